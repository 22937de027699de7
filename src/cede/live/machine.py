"""This machine as nodes of a cluster: cores, memory and GPUs as they are found."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from cede.live.executors.local.gpus import NodeFacts
from cede.model.quantities import NANO, format_quantity

MI = 2**20


def this_machine(name: str, nodes: int = 1) -> list[dict[str, Any]]:
    """Entries of a cluster file: one node of this name, or NAME-0, NAME-1, ... that share the machine evenly."""
    names = [name] if nodes == 1 else [f"{name}-{number}" for number in range(nodes)]
    cores, memory, gpus = _cores(), _memory(), gpu_ids()
    entries = []
    for number, each in enumerate(names):
        capacity: dict[str, int | str] = {
            "cpu": format_quantity(cores * 1000 // nodes * (NANO // 1000)),
            "memory": f"{memory // nodes // MI}Mi",
        }
        share = len(gpus[number::nodes])
        if share:
            capacity["gpu"] = share
        entries.append({"name": each, "capacity": capacity})
    return entries


def node_facts(gpus: Mapping[str, int]) -> dict[str, NodeFacts]:
    """What the local executor is told of nodes with these numbers of GPUs: the devices of this machine, dealt out in
    order.

    A machine without any may still present nodes with GPUs, for trying things out; those are numbered by node.
    """
    devices = gpu_ids()
    if not devices:
        return {name: NodeFacts(tuple(map(str, range(count)))) for name, count in gpus.items()}
    facts = {}
    for name, count in gpus.items():
        facts[name] = NodeFacts(tuple(devices[:count]))
        devices = devices[count:]
    return facts


def gpu_ids() -> list[str]:
    """The GPUs of this machine by UUID, as NVML finds them; none without its driver."""
    try:
        import pynvml  # type: ignore[import-untyped]  # noqa: PLC0415 - most machines have no use for it
    except ImportError:
        return []
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return []
    try:
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
        return [_text(pynvml.nvmlDeviceGetUUID(handle)) for handle in handles]
    except pynvml.NVMLError:
        return []
    finally:
        with suppress(pynvml.NVMLError):
            pynvml.nvmlShutdown()


def _text(raw: str | bytes) -> str:
    return raw.decode() if isinstance(raw, bytes) else raw


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _memory() -> int:
    """Bytes; fewer than the machine has where a control group allows no more."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            total = min(total, int(Path(limit).read_text()))
    return total
