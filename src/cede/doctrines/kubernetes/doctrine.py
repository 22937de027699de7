"""kube-scheduler put together, as the Kubernetes documentation (Pod Priority and Preemption) and KEP 268, 902 and 4832
describe it, release 1.36."""

from __future__ import annotations

from cede.doctrines.kubernetes.audit import audit
from cede.doctrines.kubernetes.budgets import lint
from cede.doctrines.kubernetes.rules import LOWER, NOT_LOWER, RULES
from cede.doctrines.kubernetes.settings import DIALECT, EDITION, KubernetesQueueSettings, KubernetesSettings
from cede.doctrines.kubernetes.victims import leaves, places, search
from cede.doctrines.parts.assembled import Protects, Recipe, assembled
from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.doctrine import Traits
from cede.state.state import State


def protects(state: State, claim: Claim, _settings: KubernetesSettings) -> Protects:
    """Priority is all that protects a pod; a disruption budget is heeded as long as there is another way."""
    work, size = state.work, state.work.size
    return [(NOT_LOWER, work.priority[:size] >= work.priority[claim.row])]


DOCTRINE = assembled(
    Recipe(
        rules=RULES,
        title="Kubernetes: default preemption of kube-scheduler",
        because=LOWER,
        protects=protects,
        settings=KubernetesSettings,
        queue_settings=KubernetesQueueSettings,
        edition=EDITION,
        lint=lint,
        traits=Traits(transactional=frozenset({EDITION})),
        leaving_may_go=True,
        begins=lambda cycle: cycle.trial.keep_apart(),
        leaves=leaves,
        places=places,
        search=search,
        goes_for_limits=False,
        audit=audit,
        alike=True,
    )
)
assert DOCTRINE.dialect == DIALECT
