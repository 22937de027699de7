"""What was looked at, and the first rule that protects each: masks for the search, sentences for whoever asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from cede.model.plan import Candidate
from cede.model.rules import Rule
from cede.state.columns import Bools
from cede.state.state import State

Facts = Callable[[int], Mapping[str, object]]


class Candidates:
    """Masks over workload rows. `looked` are all that hold room where the claimant looks; `open` may be victims."""

    def __init__(self, looked: Bools) -> None:
        self.looked = looked
        self.open = looked.copy()
        self._rules: list[tuple[Rule, Bools]] = []

    def protect(self, *rules: tuple[Rule, Bools]) -> Candidates:
        """Shield what each mask marks; of several rules the first one given is the verdict."""
        for rule, mask in rules:
            self._rules.append((rule, mask))
            np.greater(self.open, mask, out=self.open)  # open and not masked, in one pass
        return self

    def rule_of(self, row: int) -> Rule | None:
        """The rule that protects this workload, if one does."""
        return next((rule for rule, mask in self._rules if mask[row]), None)

    def explain(
        self,
        state: State,
        facts: Facts,
        victims: Mapping[int, Rule],
        spare: Rule,
        cannot: Rule | None = None,
    ) -> tuple[Candidate, ...]:
        """Every workload looked at, by name, with verdict, rule and numbers.

        `cannot` is the rule that keeps the claimant from preempting anybody, where there is one.
        """
        shown = []
        for row in sorted(np.flatnonzero(self.looked).tolist(), key=state.work_names.__getitem__):
            if row in victims:
                verdict, rule = "victim", victims[row]
            elif (protecting := self.rule_of(row)) is not None:
                verdict, rule = ("protected" if protecting.kind == "protects" else "not-eligible"), protecting
            elif cannot is not None:
                verdict, rule = "protected", cannot
            else:
                verdict, rule = "not-needed", spare
            why = rule.because(**facts(row)) if rule is not cannot else held_back(rule, facts(row))
            shown.append(Candidate(state.work_names[row], verdict, rule.id, why))
        return tuple(shown)


def held_back(cannot: Rule, facts: Mapping[str, object]) -> str:
    """Why a workload that no rule protects stays nevertheless: it is the claimant that may not preempt."""
    return f"nothing protects it, but the claimant may not take it: {cannot.because(**facts)}"
