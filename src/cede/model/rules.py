"""A rule is a name and a sentence; the sentence serves explanations, documentation and errors alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

KINDS = ("admits", "excludes", "protects", "orders", "waits", "refuses", "warns")


class _Open(dict[str, object]):
    """Leaves a placeholder standing, in angle quotes, where no value is known."""

    def __missing__(self, key: str) -> object:
        return f"‹{key}›"


@dataclass(frozen=True, slots=True)
class Rule:
    """One named condition of a doctrine."""

    doctrine: str
    name: str
    kind: str
    sentence: str
    editions: tuple[str, ...] = ()
    until: tuple[str, ...] = ()
    """Of a rule by which a workload waits: the kinds of condition that could end that, the most direct one first."""
    id: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", f"{self.doctrine}.{self.name}")

    def because(self, **facts: object) -> str:
        """The sentence with its numbers filled in."""
        return self.sentence.format_map(_Open(facts))

    def general(self) -> str:
        """The sentence with its placeholders shown as such, for lists of rules."""
        return self.sentence.format_map(_Open())


class RuleSet:
    """The rules of one doctrine, each declared once, in the order of declaration."""

    def __init__(self, doctrine: str) -> None:
        self.doctrine = doctrine
        self._rules: dict[str, Rule] = {}

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules.values())

    def __getitem__(self, name: str) -> Rule:
        return self._rules[name]

    def _declare(
        self, kind: str, name: str, sentence: str, editions: tuple[str, ...], until: tuple[str, ...] = ()
    ) -> Rule:
        if name in self._rules:
            raise ValueError(f"rule {name!r} of {self.doctrine} is declared twice")
        rule = Rule(self.doctrine, name, kind, sentence, editions, until)
        self._rules[name] = rule
        return rule

    def admits(self, name: str, sentence: str, *editions: str) -> Rule:
        return self._declare("admits", name, sentence, editions)

    def protects(self, name: str, sentence: str, *editions: str) -> Rule:
        return self._declare("protects", name, sentence, editions)

    def excludes(self, name: str, sentence: str, *editions: str) -> Rule:
        """What makes a workload no candidate at all, as opposed to one that is protected."""
        return self._declare("excludes", name, sentence, editions)

    def orders(self, name: str, sentence: str, *editions: str) -> Rule:
        return self._declare("orders", name, sentence, editions)

    def waits(self, name: str, sentence: str, *editions: str, until: tuple[str, ...] = ()) -> Rule:
        """Why a workload waits; `until` says what could end that."""
        return self._declare("waits", name, sentence, editions, until)

    def refuses(self, name: str, sentence: str, *editions: str) -> Rule:
        return self._declare("refuses", name, sentence, editions)

    def warns(self, name: str, sentence: str, *editions: str) -> Rule:
        return self._declare("warns", name, sentence, editions)
