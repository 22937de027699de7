"""What a cycle knows of waiting workloads that are alike, so that a long queue of equals is looked at once."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

from cede.doctrines.backendai.admission import matches_nothing, refused_by_owner
from cede.doctrines.backendai.rules import TOO_BIG
from cede.doctrines.backendai.settings import DOCUMENT, SHIPPED, Settings, settings_of
from cede.doctrines.parts.claim import Claim, claim_of
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.front import lasting
from cede.doctrines.parts.limits import Limit, limits_of
from cede.doctrines.parts.orders import Rows
from cede.doctrines.parts.outcomes import too_big
from cede.doctrines.parts.shapes import about, shape_of, shapes_of
from cede.model.plan import Decision
from cede.state.state import State

NOT_READ = ("app", "originator", "sensitive")
OWNERS = ("user", "project", "domain")
"""Read for policies only; release 26.8 asks for the owner too, within whose scope its victims are."""

Answer = tuple[Decision, bool]
"""A decision, and whether it blocks those behind."""


@dataclass(slots=True)
class Kind:
    """What holds for every workload of one shape as long as the cycle lasts, whatever is booked meanwhile."""

    claim: Claim
    settings: Settings
    limited: bool
    apart: bool
    refused: Decision | None
    answers: dict[Hashable, Answer] = field(default_factory=dict)
    _too_big: tuple[Decision | None] | None = None

    def claim_of(self, state: State, row: int) -> Claim:
        return replace(self.claim, row=row, name=state.work_names[row])

    def limits_of(self, state: State, row: int) -> list[Limit]:
        return limits_of(state, row, apart=self.apart) if self.limited else []

    def too_big(self, state: State, *, bare: bool = False) -> Decision | None:
        """As `outcomes.too_big`; an edition asks in one way only. Release 26.8 asks of bare nodes: it compares with an
        agent's whole capacity, and knows no use that it does not manage.
        """
        if self._too_big is None:
            self._too_big = (too_big(state, self.claim, TOO_BIG, bare=bare),)
        return self._too_big[0]


def unread_by(state: State) -> tuple[str, ...]:
    """Columns of a claimant that nothing which holds for its kind depends on."""
    return NOT_READ if state.static.policies else (*NOT_READ, *OWNERS)


class Known:
    """Kinds of waiting workloads, and the answers that were given since something was booked last.

    With `kinds` and `shapes` of earlier cycles those are used, and added to.
    """

    def __init__(
        self,
        cycle: Cycle,
        rows: Rows,
        kinds: dict[Hashable, Kind] | None = None,
        shapes: dict[int, Hashable] | None = None,
    ) -> None:
        self.cycle = cycle
        self.shapes: dict[int, Hashable] = {}
        if shapes is None:
            self.shapes.update(shapes_of(cycle.state, rows, unread_by(cycle.state)))
        else:
            self.shapes = shapes
        self._kinds: dict[Hashable, Kind] = {} if kinds is None else kinds
        self._mark: int | None = None

    def kind(self, row: int) -> Kind:
        """What is known of this workload and all that are like it."""
        state = self.cycle.state
        shape = self.shapes.get(row)
        if shape is None:
            shape = self.shapes[row] = shape_of(state, row, unread_by(state))
        found = self._kinds.get(shape)
        if found is None:
            found = self._kinds[shape] = kind_of(self.cycle, row)
        return found

    def answer(self, row: int, beside: Hashable) -> Answer | None:
        """What was answered to one like this, with the same things beside it and nothing booked since."""
        mark = self.cycle.trial.mark()
        if mark != self._mark:
            self._mark = mark
            for kind in self._kinds.values():
                kind.answers.clear()
        known = self.kind(row).answers.get(beside)
        if known is None:
            return None
        return about(known[0], self.cycle.state.work_names[row]), known[1]

    def keep(self, row: int, beside: Hashable, answer: Answer) -> None:
        """An answer that books nothing is that of all that are like this one."""
        if answer[0].action in ("wait", "refuse"):
            self.kind(row).answers[beside] = answer


def kind_of(cycle: Cycle, row: int) -> Kind:
    state = cycle.state
    claim, limits = lasting(claim_of(state, row)), limits_of(state, row)
    refused = refused_by_owner(state, row, limits) or matches_nothing(state, claim)
    edition = DOCUMENT if cycle.edition == DOCUMENT else SHIPPED
    settings = settings_of(state.tree.settings(int(state.work.queue[row])), edition)
    return Kind(claim, settings, bool(limits), edition == SHIPPED, refused)
