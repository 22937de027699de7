"""Cede decides who must give way, to whom, when, at what cost, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cede.engine.cluster import Cluster
    from cede.engine.cycle import plan
    from cede.engine.doctrine_files import load_doctrine
    from cede.engine.load import load
    from cede.engine.settle import settle
    from cede.engine.verify import verify
    from cede.live.client import Client, ClientError
    from cede.model.errors import CedeError, InputError
    from cede.model.plan import Decision, Plan, Settled
    from cede.sim.result import Result
    from cede.sim.simulate import simulate

__version__ = "0.1.0"
__all__ = [
    "CedeError",
    "Client",
    "ClientError",
    "Cluster",
    "Decision",
    "InputError",
    "Plan",
    "Result",
    "Settled",
    "load",
    "load_doctrine",
    "plan",
    "settle",
    "simulate",
    "verify",
]

_HOMES = {
    "CedeError": "cede.model.errors",
    "Client": "cede.live.client",
    "ClientError": "cede.live.client",
    "Cluster": "cede.engine.cluster",
    "Decision": "cede.model.plan",
    "InputError": "cede.model.errors",
    "Plan": "cede.model.plan",
    "Result": "cede.sim.result",
    "Settled": "cede.model.plan",
    "load": "cede.engine.load",
    "load_doctrine": "cede.engine.doctrine_files",
    "plan": "cede.engine.cycle",
    "settle": "cede.engine.settle",
    "simulate": "cede.sim.simulate",
    "verify": "cede.engine.verify",
}


def __getattr__(name: str) -> Any:
    """Public names are imported when first used, so that `cede --help` starts at once."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value
