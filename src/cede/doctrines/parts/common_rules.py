"""The rules that an assembled doctrine has beside its own, in the words that all of them share."""

from __future__ import annotations

from dataclasses import dataclass

from cede.model.rules import Rule, RuleSet


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
                "not-enough", "it may be preempted, but all who may be, together, do not make enough room"
            ),
            running_only=rules.excludes("running-only", "it is {state}; only running work gives way"),
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
