"""The rules of kube-scheduler's default preemption, beside those that every assembled doctrine has."""

from __future__ import annotations

from cede.model.rules import RuleSet

RULES = RuleSet("kubernetes")

LOWER = RULES.admits("lower-priority", "its priority {priority} is below the claimant's {claimant_priority}")

NOT_LOWER = RULES.protects(
    "lower-priority-only", "its priority {priority} is not below the claimant's {claimant_priority}"
)

QUEUE_ORDER = RULES.orders("queue-order", "higher priority first, then earlier submission, then uid")
NODE_SCORE = RULES.orders(
    "node-score",
    "of nodes with room the one with the most left over of CPU and memory (LeastAllocated) whose use of the two is or "
    "becomes most alike (BalancedAllocation), in whole points, then by name",
)
REPRIEVE_ORDER = RULES.orders(
    "reprieve-order",
    "all of lower priority go; then each that still fits beside the claimant stays: first those whose going breaks a "
    "disruption budget, then the others, both by higher priority, then earlier start, then uid",
)
NODE_CHOICE = RULES.orders(
    "node-choice",
    "the node whose victims break the fewest disruption budgets, then have the lowest highest priority, the smallest "
    "sum of priorities, are fewest, and of which the first of the highest priority started last; then by name",
)

BREAKS_BUDGET = RULES.warns(
    "breaks-budget", "{victim} is covered by the disruption budget {budget}, which allows {allowed} more"
)
