"""What a pod asks for, by its specification."""

from __future__ import annotations

from cede.imports.amounts import Amounts, total
from cede.imports.fields import Fields
from cede.imports.kubernetes import CONTAINER, RESOURCES
from cede.imports.kueue.quantities import largest, quantities

FOR_THE_POD = ("cpu", "memory")
"""With hugepages, the resources that a pod may state for itself instead of for its containers."""


def requests_of(spec: Fields) -> Amounts:
    """What one pod needs while it runs: containers together, or an init container if that needs more; and overhead."""
    running = total(map(_container, spec.parts("containers")))
    beside: Amounts = {}
    starting: Amounts = {}
    for container in spec.parts("initContainers"):
        asked = _container(container)
        if container.text("restartPolicy") == "Always":  # it stays beside those that come after it
            beside = total((beside, asked))
            starting = largest(starting, beside)
        else:
            starting = largest(starting, total((beside, asked)))
    found = largest(total((running, beside)), starting)
    stated = _resources(spec)
    found |= {name: nano for name, nano in stated.items() if name in FOR_THE_POD or name.startswith("hugepages-")}
    return total((found, quantities(spec, "overhead")))


def _container(container: Fields) -> Amounts:
    asked = _resources(container)
    container.skip_rest(CONTAINER)
    return asked


def _resources(fields: Fields) -> Amounts:
    """The requests; a limit stands for a request that is not given."""
    resources = fields.part("resources")
    asked = quantities(resources, "requests")
    resources.skip_rest(RESOURCES)
    return asked | {name: nano for name, nano in quantities(resources, "limits").items() if name not in asked}
