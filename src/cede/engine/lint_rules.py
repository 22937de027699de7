"""The checks of `cede lint` that hold under every doctrine: a name and a sentence each."""

from __future__ import annotations

from cede.model.lint import Finding
from cede.model.rules import Rule, RuleSet

RULES = RuleSet("lint")

OVER_CAPACITY = RULES.warns(
    "node-over-capacity", "what stands on {node} takes {used} {what} of {capacity}, which is {over} too much"
)
NOT_ALONE = RULES.warns("node-not-exclusive", "{alone} asks for the whole of {node}, and {others} stands there too")
STALE_HOLD = RULES.warns("reserved-for-nobody", "{node} is kept for {workload}, which is {state} and waits for nothing")

OVER_MAX = RULES.warns("queue-over-max", "{queue} holds {used} {what}, and its max is {limit}")
GUARANTEE_OVER_MAX = RULES.warns(
    "guarantee-above-max", "{queue} is guaranteed {guaranteed} {what}, more than its max of {limit}"
)
CHILDREN_OVER_PARENT = RULES.warns(
    "guarantees-above-parent",
    "the children of {queue} are guaranteed {total} {what} in all, {queue} itself {guaranteed}",
)
OVER_CLUSTER = RULES.warns(
    "guarantees-above-capacity",
    "the queues of {partition} are guaranteed {total} {what} in all, and its nodes have {capacity}",
)
MAX_OVER_PARENT = RULES.warns(
    "max-above-parent", "the max of {queue}, {limit} {what}, is above that of {parent}, {above}: it is never reached"
)
NO_PARENT = RULES.warns("limit-without-parent", "{queue} has a {key} but no parent to share with")
EMPTY_PARTITION = RULES.warns("partition-without-nodes", "no node belongs to {partition}, the partition of {queue}")

POLICY_RANGE = RULES.warns(
    "default-outside-range",
    "{owner} may use priorities {low}..{high}, and work without one has {whose}, {default}, {effect}",
)
NO_DOCTRINE = RULES.warns("settings-without-doctrine", "{keys}: without a doctrine nobody reads these settings")

NO_SUCH_RESOURCE = RULES.warns("no-such-resource", "no {who} has {resource}")
FITS_NOWHERE = RULES.warns("fits-no-node", "{workload} fits no node it may use, even if that were empty{more}")
OTHER_PARTITION = RULES.warns(
    "other-partition", "{workload} belongs to {partition}, and stands on {node} of {other}: no rule sees it there"
)
ON_DOWN_NODE = RULES.warns("on-down-node", "{workload} is {state} on {node}, which is down")


def finding(rule: Rule, path: str, hint: str, **facts: object) -> Finding:
    """The rule's sentence with its numbers, and the place."""
    return Finding(rule.id, path, rule.because(**facts), hint)
