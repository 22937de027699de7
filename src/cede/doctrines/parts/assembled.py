"""A doctrine from a `Recipe`: the rules and the decision that all such doctrines share, around what is its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np

from cede.doctrines.parts.candidates import Candidates
from cede.doctrines.parts.claim import Claim, claim_of
from cede.doctrines.parts.cover import VictimOrder, take_until_fits
from cede.doctrines.parts.doctrine import Audit, Cycle, Doctrine, Traits
from cede.doctrines.parts.equivalence import Answers, Classes
from cede.doctrines.parts.fit import place
from cede.doctrines.parts.limits import Limit, broken, hopeless, limits_of, nodes_over
from cede.doctrines.parts.nearest_miss import nearest_miss
from cede.doctrines.parts.orders import Key, Rows, ordered
from cede.doctrines.parts.outcomes import decision, flavors_of, matches_nothing, names_of, started, too_big, wanted
from cede.doctrines.parts.policies import breach_of
from cede.doctrines.parts.question import Question
from cede.doctrines.parts.selection import best_of, by_cost, cover_of
from cede.doctrines.parts.shortage import free_before, lacking, shortage
from cede.doctrines.parts.starting_file import Outline, Starter, bare
from cede.model.dialect import INT32, Dialect
from cede.model.lint import Finding
from cede.model.plan import REQUEUED, Candidate, Decision, Miss, Victim, Warning
from cede.model.rules import Rule, RuleSet
from cede.model.values import Part
from cede.state.columns import PREEMPTING, RESERVED, RUNNING, STATES, SUSPENDED, Bools
from cede.state.state import State
from cede.state.trial import Trial


@dataclass(frozen=True, slots=True)
class CommonRules:
    """Each under its name; what its sentence may name is what `assembled` fills in."""

    fits: Rule
    not_needed: Rule
    not_enough: Rule
    running_only: Rule
    usable_nodes: Rule
    opt_out: Rule
    no_room: Rule
    awaits: Rule
    may_not_preempt: Rule
    quota: Rule
    no_usable_node: Rule
    fits_no_node: Rule
    matches_no_node: Rule
    over_limit: Rule
    priority_range: Rule
    priority_fixed: Rule

    @staticmethod
    def declared(rules: RuleSet) -> CommonRules:
        """Declared among the doctrine's own."""
        full = "no node has room for it ({short})"
        return CommonRules(
            fits=rules.admits("fits", "it fits now on {nodes}"),
            not_needed=rules.admits("not-needed", "it may be preempted, but the claimant fits without that"),
            not_enough=rules.admits(
                "not-enough", "it may be preempted, but preempting every candidate would not make enough room"
            ),
            running_only=rules.excludes("running-only", "it is {state}; only running work can be preempted"),
            usable_nodes=rules.excludes("usable-nodes", "it stands on no node that the claimant may use"),
            opt_out=rules.protects("opt-out", "it asks not to be preempted (preemptible: false)"),
            no_room=rules.waits("no-room", full + ", and {victims}", until=("candidate", "room")),
            awaits=rules.waits(
                "awaits-leaving", "its room is on {nodes}, as soon as {who} has left there", until=("room",)
            ),
            may_not_preempt=rules.waits(
                "may-not-preempt", full + ", and it never preempts others (preempts: false)", until=("room",)
            ),
            quota=rules.waits(
                "quota",
                "{owner} holds {used} of at most {limit} {what}, and it asks for {asked}{more}",
                until=("quota",),
            ),
            no_usable_node=rules.waits(
                "no-usable-node",
                "{matching} of its partition's nodes match it, and none of them is ready and free to use",
                until=("room",),
            ),
            fits_no_node=rules.refuses(
                "fits-no-node", "it fits no node of its partition even if that were empty: {short}"
            ),
            matches_no_node=rules.refuses("matches-no-node", "no node of its partition has {wanted}"),
            over_limit=rules.refuses(
                "over-limit", "it asks for {asked} {what}, and {owner} may never hold more than {limit}"
            ),
            priority_range=rules.refuses(
                "priority-range", "priority {priority} is outside {low}..{high}, the range that {owner} may use"
            ),
            priority_fixed=rules.refuses(
                "priority-fixed", "{owner} may not choose a priority: it asks for {priority}, its own is {default}"
            ),
        )


EDITION = "1"
MOST_REASONS = 3
"""How many victims are named with the reason."""
S = TypeVar("S", bound=Part)

Protects = Iterable[tuple[Rule, Bools]]
"""Rules, the first one that marks a workload being the verdict; masks over all rows of `state.work`."""


class Empty(Part):
    """No settings."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What goes, and where the claimant stands then. `awaited` are on their way already, and it counts on their room.

    `more` is what the reason adds, as to why it is these and there.
    """

    victims: Sequence[int]
    nodes: Sequence[int]
    awaited: Sequence[int] = ()
    warnings: tuple[Warning, ...] = ()
    more: str = ""


def by_priority(state: State, _settings: Any) -> VictimOrder:
    """The lowest priority first, of equals the one that started last."""
    size = state.work.size
    return VictimOrder(state.work.priority[:size], -state.work.started[:size])


def highest_first(state: State, rows: Rows, _settings: Any) -> tuple[Key, ...]:
    """The highest priority first, then the earliest submission."""
    return -state.work.priority[rows], state.work.submitted[rows]


def _no_facts(_state: State, _claimant: int, _row: int) -> Mapping[str, object]:
    return {}


def _requeued(_state: State, _row: int, _settings: Any) -> str:
    return REQUEUED


def _nothing(_state: State, _settings: Any) -> Iterable[Finding]:
    return ()


@dataclass(frozen=True, slots=True)
class Recipe(Generic[S]):
    """What is a doctrine's own. Only `rules`, `title`, `because` and `protects` must be said.

    `settings` is the model of its settings for the whole cluster, which every function here is given as read.
    """

    rules: RuleSet
    title: str
    because: Rule
    """Why a victim may be taken, whose sentence may name the facts below."""
    protects: Callable[[State, Claim, S], Protects]
    """What this claimant may not take, beside what no doctrine takes."""
    settings: type[S] = Empty  # type: ignore[assignment]
    queue_settings: type[Part] = Empty
    edition: str = EDITION
    facts: Callable[[State, int, int], Mapping[str, object]] = _no_facts
    """What sentences may name of a candidate, by the rows of the claimant and of the candidate; beside its `name`,
    `priority`, `state` and `nodes`, the `claimant` and its `claimant_priority`, and the settings by their names."""
    turn: Callable[[State, Rows, S], tuple[Key, ...]] = highest_first
    """Keys of these waiting workloads, ascending: what is decided first."""
    first: Callable[[State, S], VictimOrder] = by_priority
    """In which order victims are taken."""
    cannot: Callable[[State, int, S], Rule | None] = lambda _state, _row, _settings: None
    """The rule by which this claimant preempts nothing."""
    fate: Callable[[State, int, S], str] = _requeued
    lint: Callable[[State, S], Iterable[Finding]] = _nothing
    starter: Callable[[Outline, str], Starter] = lambda outline, _edition: bare(outline)
    traits: Traits | None = None
    """If it has none of its own, it promises that no victim is superfluous."""
    leaving_may_go: bool = False
    """Whether those that are leaving, and those room is held for, are asked about too. What loses such room is not
    preempted by it: a claimant that preempts nothing may take it as well."""
    begins: Callable[[Cycle], object] = lambda _cycle: None
    leaves: Callable[[Trial, int], None] = Trial.evict
    """What a victim's going means to workloads that are decided after its claimant."""
    places: Callable[[State, Claim, S], list[int] | None] | None = None
    """Where it starts now, if not where it fits best."""
    search: Callable[[Cycle, Claim, S, Bools], Choice | None] | None = None
    """What a claimant takes of what is open, if not a prefix of the order; only asked if no limit is short."""
    goes_for_limits: bool = True
    """Whether work is preempted for a claimant whose queue, user or project is at its limit; else it waits for that."""
    audit: Callable[[State, S], Audit] | None = None
    """What it promises of a plan beside that; code that chose nothing."""
    alike: bool = False
    """Whether waiting workloads of one shape find the same answer: nothing here reads when a claimant was submitted,
    its walltime or its checkpoints, and no sentence names it. Then a long line of equals is asked about once."""
    common: CommonRules = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "common", CommonRules.declared(self.rules))

    def read(self, state: State) -> S:
        """The settings that the file gives, with defaults for the others."""
        choice = state.static.doctrine
        return self.settings.model_validate({} if choice is None else choice.settings)


def assembled(recipe: Recipe[S]) -> Doctrine:
    """The doctrine of this recipe."""
    name, edition = recipe.rules.doctrine, recipe.edition
    return Doctrine(
        dialect=dialect_of(name, edition, recipe.settings, recipe.queue_settings),
        title=recipe.title,
        rules=recipe.rules,
        decide=lambda cycle: _Pass(recipe, cycle).decide(),
        fate=lambda state, _edition, row: recipe.fate(state, row, recipe.read(state)),
        audit=lambda state, _edition: audit_of(recipe, state),
        traits=recipe.traits or Traits(exact=frozenset({edition})),
        lint=lambda state, _edition: recipe.lint(state, recipe.read(state)),
        question=lambda state, _edition, made, _memory: _question(recipe, state, made),
        starter=recipe.starter,
    )


def dialect_of(name: str, edition: str, settings: type[Part], queue_settings: type[Part]) -> Dialect:
    return Dialect(name, cluster=settings, queues={edition: queue_settings}, priorities=INT32)


def audit_of(recipe: Recipe[S], state: State) -> Audit:
    """Asks the rules about the final victims of each decision, one by one, and about their fate."""
    settings = recipe.read(state)
    own = None if recipe.audit is None else recipe.audit(state, settings)

    def follow(made: Decision) -> Iterator[str]:
        if own is not None:
            yield from own(made)
        if made.workload is None or not made.victims:
            return
        claimant = state.work_index[made.workload]
        cannot = _cannot(recipe, state, claimant, settings)
        rows = [state.work_index[victim.workload] for victim in made.victims]
        nominated = recipe.leaving_may_go and bool((state.work.state[rows] == RESERVED).all())
        if cannot is not None and not nominated:
            yield f"{made.workload} preempts though it may not ({cannot.id})"
        claim = claim_of(state, claimant)
        candidates = _candidates(recipe, state, claim, settings)
        facts = _facts(recipe, state, claimant, settings)
        for victim in made.victims:
            row = state.work_index[victim.workload]
            rule = candidates.rule_of(row)
            if rule is not None:
                yield f"{victim.workload} may not be taken: {rule.because(**facts(row))} ({rule.id})"
            elif not candidates.looked[row]:
                yield f"{victim.workload} holds nothing where {made.workload} looks"
            fate = recipe.fate(state, row, settings)
            if victim.fate != fate and not victim.leaving:
                yield f"{victim.workload} would be {victim.fate}, and by the rules it is {fate}"

    return follow


def _question(recipe: Recipe[S], state: State, made: Decision) -> Question | None:
    """The cheapest set that the rules let go, as the certificate asks for it."""
    if made.workload is None or not made.victims:
        return None
    claim = claim_of(state, state.work_index[made.workload])
    candidates = _candidates(recipe, state, claim, recipe.read(state))
    limits = broken(limits_of(state, claim.row))
    relaxed = ("how many nodes its tenant may hold is not asked",) if state.static.tenants else ()
    rows = np.flatnonzero(candidates.open)
    return replace(by_cost(state, cover_of(state, claim, rows, limits)), relaxed=relaxed)


def _cannot(recipe: Recipe[S], state: State, row: int, settings: S) -> Rule | None:
    return recipe.cannot(state, row, settings) if state.work.preempts[row] else recipe.common.may_not_preempt


def _candidates(recipe: Recipe[S], state: State, claim: Claim, settings: S) -> Candidates:
    """All that hold room in the claimant's partition; the first rule that keeps one is its verdict."""
    work, size, common = state.work, state.work.size, recipe.common
    phase = work.state[:size]
    going = phase == RUNNING
    if recipe.leaving_may_go:
        going |= (phase == PREEMPTING) | (phase == RESERVED)
    candidates = Candidates((phase >= RESERVED) & (work.partition[:size] == work.partition[claim.row]))
    candidates.protect((common.running_only, ~going), (common.opt_out, ~work.preemptible[:size]))
    return candidates.protect(*recipe.protects(state, claim, settings))


def _facts(recipe: Recipe[S], state: State, claimant: int, settings: S) -> Callable[[int], dict[str, object]]:
    work = state.work

    def facts(row: int) -> dict[str, object]:
        return {
            **dict(settings),
            "name": state.work_names[row],
            "priority": int(work.priority[row]),
            "state": STATES[int(work.state[row])],
            "nodes": ", ".join(dict.fromkeys(state.nodes_of(row))),
            "claimant": state.work_names[claimant],
            "claimant_priority": int(work.priority[claimant]),
            **recipe.facts(state, claimant, row),
        }

    return facts


class _Pass(Generic[S]):
    """One cycle: all that waits, in turn."""

    def __init__(self, recipe: Recipe[S], cycle: Cycle) -> None:
        self.recipe = recipe
        self.common = recipe.common
        self.cycle = cycle
        self.state = cycle.state
        self.settings = recipe.read(cycle.state)
        self.told: set[int] = set()
        """What was told to leave in this cycle."""
        self._classes = Classes(cycle.state)
        self._answers = Answers(cycle)

    def decide(self) -> Iterator[Decision]:
        """A workload that is asked for alone is decided behind those ahead of it, so that it finds what they leave."""
        self.recipe.begins(self.cycle)
        for row in self._in_turn():
            asked = self.cycle.only in (None, row)
            made = self._answer(self.cycle if asked else self.cycle.quiet(), row)
            if asked:
                yield made
            if row == self.cycle.only:
                return

    def _in_turn(self) -> list[int]:
        state = self.state
        rows: Rows = np.fromiter(state.pending, np.intp, len(state.pending))
        rows = rows[state.work.state[rows] <= SUSPENDED]
        rows_in_turn: list[int] = ordered(state, rows, *self.recipe.turn(state, rows, self.settings)).tolist()
        return rows_in_turn

    def _answer(self, cycle: Cycle, row: int) -> Decision:
        """As to the one like it before, if nothing was booked since."""
        if not self.recipe.alike:
            return self._decide(cycle, row)
        like = self._classes.of(self.state, row), cycle.told
        made = self._answers.answer(row, like)
        if made is None:
            made = self._decide(cycle, row)
            self._answers.keep(like, made)
        return made

    def _decide(self, cycle: Cycle, row: int) -> Decision:
        state, common = self.state, self.common
        limits = limits_of(state, row)
        refused = self._refused(row, limits)
        if refused is not None:
            return refused
        claim = claim_of(state, row)
        short = broken(limits)
        nodes = None if short else self._place(claim)
        if nodes is not None:
            over = nodes_over(state, row, nodes)
            if over is None:
                return started(cycle, claim, nodes, common.fits)
            short = [over]
        candidates = _candidates(self.recipe, state, claim, self.settings)
        cannot = _cannot(self.recipe, state, row, self.settings)
        if short and not self.recipe.goes_for_limits:
            cannot = cannot or common.quota
        elif cannot is None or self.recipe.leaving_may_go:
            choice = self._chosen(cycle, claim, candidates, short, nominations_only=cannot is not None)
            if choice is not None:
                return self._preempting(cycle, claim, candidates, choice, short)
        if matches_nothing(state, claim):
            return decision(state, row, "refuse", common.matches_no_node, wanted=wanted(state, row) or "such a kind")
        refused = too_big(state, claim, common.fits_no_node)
        return refused or self._waiting(cycle, claim, candidates, short, cannot)

    def _refused(self, row: int, limits: list[Limit]) -> Decision | None:
        """Outside the priorities that its user or project may use, or beyond a limit that nothing makes room under."""
        state, common = self.state, self.common
        breach = breach_of(state, row, *INT32)
        if breach is not None:
            rule = common.priority_fixed if breach.fixed else common.priority_range
            return decision(state, row, "refuse", rule, **breach.facts)
        for limit in hopeless(limits):
            return decision(state, row, "refuse", common.over_limit, **limit.facts(state))
        return None

    def _place(self, claim: Claim) -> list[int] | None:
        if self.recipe.places is None or not self.state.nodes.size:
            return place(self.state, claim)
        return self.recipe.places(self.state, claim, self.settings)

    # -- who goes ----------------------------------------------------------------------------------------------

    def _chosen(
        self, cycle: Cycle, claim: Claim, candidates: Candidates, short: list[Limit], *, nominations_only: bool
    ) -> Choice | None:
        search, size = self.recipe.search, self.state.work.size
        everybody = (
            candidates.open & (self.state.work.state[:size] == RESERVED) if nominations_only else candidates.open
        )

        def take(open_: Bools) -> Choice | None:
            if search is not None and not short and self.state.nodes.size:
                return search(cycle, claim, self.settings, open_)
            return taken_in_order(cycle, claim, open_, self.recipe.first(self.state, self.settings), short)

        own = take(everybody)
        if own is None or not own.victims or not cycle.optimal:
            return own
        asked = cover_of(self.state, claim, np.flatnonzero(everybody), short)
        return best_of(cycle, own, lambda one: one.victims, lambda: asked, lambda only: take(everybody & only))

    def _preempting(
        self, cycle: Cycle, claim: Claim, candidates: Candidates, choice: Choice, short: list[Limit]
    ) -> Decision:
        state, work, because = self.state, self.state.work, self.recipe.because
        awaited = [row for row in choice.awaited if row not in self.told]
        victims = [*choice.victims, *awaited]
        names = names_of(state, list(choice.nodes))
        shown = None
        if cycle.explain:
            shown = self._explained(claim, candidates, dict.fromkeys(victims, because), self.common.not_needed, None)
        before = free_before(state, choice.victims)
        limit = self.common.quota.because(**short[0].facts(state), more="") if short else ""
        about_one = _facts(self.recipe, state, claim.row, self.settings)
        who = [state.work_names[row] for row in choice.victims]
        for at, row in enumerate(choice.victims[:MOST_REASONS]):
            who[at] += f" ({because.because(**about_one(row))})"
        lost = tuple(
            Victim(
                state.work_names[row],
                because.id,
                self.recipe.fate(state, row, self.settings),
                leaving=bool(work.state[row] == PREEMPTING),
            )
            for row in victims
        )
        for row in choice.victims:
            self.recipe.leaves(cycle.trial, row)
        self.told.update(choice.victims)
        missing = lacking(state, claim, list(choice.nodes), before) or limit or "the room there is held for others"
        cycle.trial.book(claim.row, choice.nodes)
        if not choice.victims:
            awaits = self.common.awaits
            leaving = ", ".join(sorted(state.work_names[row] for row in choice.awaited))
            sentence = awaits.because(nodes=", ".join(dict.fromkeys(names)), who=leaving)
            return Decision(claim.name, "wait", awaits.id, sentence, candidates=shown)
        why = f"{missing}; it preempts {', '.join(who)}{choice.more}"
        flavors = flavors_of(state, claim, list(choice.nodes))
        return Decision(
            claim.name, "preempt", because.id, why, lost, names, flavors, warnings=choice.warnings, candidates=shown
        )

    # -- who waits ---------------------------------------------------------------------------------------------

    def _waiting(
        self, cycle: Cycle, claim: Claim, candidates: Candidates, short: list[Limit], cannot: Rule | None
    ) -> Decision:
        state, common = self.state, self.common
        rule = cannot or common.no_room
        if short:
            rule = common.quota
        elif state.nodes.size and not claim.allowed.any():
            rule = common.no_usable_node
        self._exclude_elsewhere(claim, candidates)
        count = int(candidates.open.sum())
        too_few = f"what it may preempt ({count}) does not make enough"
        numbers: dict[str, object] = {
            **(short[0].facts(state) if short else {}),
            "short": shortage(state, claim) if state.nodes.size else "its quota is used up",
            "victims": too_few if count else "nothing may be preempted for it",
            "matching": int(claim.matching.sum()),
            "more": "".join(f"; {common.quota.because(**limit.facts(state), more='')}" for limit in short[1:]),
        }
        facts = _facts(self.recipe, state, claim.row, self.settings)
        missed: tuple[Miss, ...] = ()
        if cycle.misses:
            missed = tuple(
                self._miss(row, candidates, cannot, numbers, facts) for row in nearest_miss(state, claim, short)
            )
        shown = self._explained(claim, candidates, {}, common.not_enough, cannot, numbers) if cycle.explain else None
        sentence = rule.because(**{**facts(claim.row), **numbers})
        return Decision(claim.name, "wait", rule.id, sentence, nearest_miss=missed, candidates=shown)

    def _miss(
        self,
        row: int,
        candidates: Candidates,
        cannot: Rule | None,
        numbers: Mapping[str, object],
        facts: Callable[[int], dict[str, object]],
    ) -> Miss:
        name, rule = self.state.work_names[row], candidates.rule_of(row) or cannot
        if rule is None:
            return Miss(name, None, "no rule protects it")
        return Miss(name, rule.id, rule.because(**{**numbers, **facts(row)}))

    def _explained(
        self,
        claim: Claim,
        candidates: Candidates,
        victims: dict[int, Rule],
        spare: Rule,
        cannot: Rule | None,
        numbers: Mapping[str, object] | None = None,
    ) -> tuple[Candidate, ...]:
        self._exclude_elsewhere(claim, candidates)
        facts = _facts(self.recipe, self.state, claim.row, self.settings)
        return candidates.explain(self.state, lambda row: {**(numbers or {}), **facts(row)}, victims, spare, cannot)

    def _exclude_elsewhere(self, claim: Claim, candidates: Candidates) -> None:
        """Exclude those that stand on no node the claimant may use. The search need not; an explanation must."""
        state = self.state
        if not state.nodes.size:
            return
        here = np.zeros(state.work.size, np.bool_)
        residents = state.residents
        live = residents.count[: residents.size] > 0
        here[residents.work[: residents.size][live & claim.allowed[residents.node[: residents.size]]]] = True
        candidates.protect((self.common.usable_nodes, ~here & candidates.looked))


def taken_in_order(cycle: Cycle, claim: Claim, open_: Bools, order: VictimOrder, short: list[Limit]) -> Choice | None:
    """The shortest prefix of the order that is enough, spared; none if all are too few."""
    state, trial = cycle.state, cycle.trial
    victims = take_until_fits(state, claim, open_, order, short)
    if not victims:
        return None
    mark = trial.mark()
    for row in victims:
        trial.evict(row)
    nodes = place(state, claim)
    over = None if nodes is None else nodes_over(state, claim.row, nodes)
    trial.undo(mark)
    return None if nodes is None or over is not None else Choice(victims, nodes)
