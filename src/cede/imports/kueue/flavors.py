"""Resource flavors: which nodes they are, and which of them a pod may get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cede.imports.kueue.objects import Object
from cede.imports.kueue.selectors import NodeSelection, Taint, Toleration, taints, tolerations


@dataclass(frozen=True, slots=True)
class Flavor:
    """A kind of nodes: the labels they have, the taints they may have, and what it makes pods tolerate."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()

    def tolerates(self, taint: Taint) -> bool:
        """Whether a pod with this flavor tolerates a taint of a node."""
        return taint in self.taints or any(one.accepts(taint) for one in self.tolerations)

    def takes(self, selection: NodeSelection, keys: frozenset[str]) -> bool:
        """Whether a pod may get this flavor, where labels with these keys count."""
        tolerated = (*self.tolerations, *selection.tolerations)
        kept_away = (taint for taint in self.taints if not any(one.accepts(taint) for one in tolerated))
        return next(kept_away, None) is None and selection.accepts(self.labels, keys)


def flavors_of(objects: Sequence[Object]) -> dict[str, Flavor]:
    """The flavors by name."""
    flavors = {}
    for one in objects:
        spec = one.fields.part("spec")
        spec.note("placement by topology is not carried over", "topologyName")
        spec.note("every resource counts alike in a share", "resourceWeights")
        flavors[one.name] = Flavor(
            one.name,
            spec.labels("nodeLabels"),
            tuple(taints(spec, "nodeTaints")),
            tuple(tolerations(spec, "tolerations")),
        )
        one.fields.close()
    return flavors


def usable(selection: NodeSelection, names: Sequence[str], flavors: Mapping[str, Flavor]) -> list[str]:
    """Those of a group's flavors that a pod may get; one that was not given takes every pod."""
    known = {name: flavors[name] for name in names if name in flavors}
    keys = frozenset(key for flavor in known.values() for key in flavor.labels)
    return [name for name in names if name not in known or known[name].takes(selection, keys)]
