"""Which GPUs of a logical node each member has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """A logical node on this machine: the devices it may give to its members, and where others reach it."""

    gpus: tuple[str, ...] = ()
    """As CUDA_VISIBLE_DEVICES names them: numbers or UUIDs."""
    address: str = "127.0.0.1"


class GpuError(Exception):
    """Why a member cannot have the GPUs it asks for, in a sentence."""


class Gpus:
    """The devices in use, by node. Where no node has any, nothing is given and nothing checked."""

    def __init__(self, nodes: Mapping[str, NodeFacts]) -> None:
        known = any(facts.gpus for facts in nodes.values())
        self._devices = {name: facts.gpus for name, facts in nodes.items()} if known else {}
        self._used: dict[tuple[str, int], list[tuple[str, str]]] = {}

    def assign(self, key: tuple[str, int], nodes: Sequence[str], each: int) -> list[list[str] | None]:
        """The devices of each member in turn, now in use by the attempt; none where nothing is known of the node."""
        taken = {pair for pairs in self._used.values() for pair in pairs}
        given: list[tuple[str, str]] = []
        assignment: list[list[str] | None] = []
        for node in nodes:
            devices = self._devices.get(node)
            if devices is None:
                assignment.append(None)
                continue
            free = [device for device in devices if (node, device) not in taken]
            if len(free) < each:
                raise GpuError(f"node {node} has {len(free)} of its {len(devices)} GPUs free, and {each} are asked for")
            chosen = free[:each]
            taken.update((node, device) for device in chosen)
            given += [(node, device) for device in chosen]
            assignment.append(chosen)
        self._used[key] = given
        return assignment

    def take(self, key: tuple[str, int], nodes: Sequence[str], devices: Sequence[Sequence[str] | None]) -> None:
        """These devices are in use, as they were before a restart."""
        self._used[key] = [(node, device) for node, some in zip(nodes, devices, strict=True) for device in some or ()]

    def free(self, key: tuple[str, int]) -> None:
        self._used.pop(key, None)
