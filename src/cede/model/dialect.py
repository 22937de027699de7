"""What a cluster file may say under one doctrine, and what it means: data that the doctrine hands in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict

from cede.model.errors import Loc
from cede.model.settings import Setting, settings_told
from cede.model.values import Part

if TYPE_CHECKING:
    from cede.model.checks import Known
    from cede.model.cluster import ClusterFile
    from cede.model.queues import Queue
    from cede.model.reports import Finding
    from cede.model.salvage import Draft

INT32 = (-(2**31), 2**31 - 1)


class Open(Part):
    """Settings of any name: their doctrine does not list them."""

    model_config = ConfigDict(extra="allow")


@dataclass(frozen=True, slots=True)
class SensitiveClass:
    """A class of work that is sensitive: a workload with this priority, or in such a queue, is so whatever it says.

    Sensitive work counts as of this class, and is not queued again by itself after it failed.
    """

    priority: int
    holds_queue: Callable[[Mapping[str, Any]], bool]
    """Whether a queue of these settings is for such work alone."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The settings of one doctrine, and how it reads what every cluster file has."""

    name: str
    cluster: type[Part]
    """Its settings for the whole cluster."""
    queues: Mapping[str, type[Part]]
    """Its settings of a queue, by edition; the editions stand in the contract's order, the first is the default."""
    apps: type[Part] | None = None
    """Its settings of an app; none: it has nothing of its own there, and nothing is checked."""
    described: bool = True
    """Whether the schema lists its settings; a file is refused for unknown ones all the same."""
    priorities: tuple[int, int] = INT32
    """The lowest and the highest priority of a workload."""
    priority_words: str = "priorities"
    """What priorities are called when one is out of range."""
    default_priority: int = 0
    quota: bool = False
    """Whether a guarantee is a quota: by flavor, on top of what is guaranteed below it, all that a queue may hold
    unless it borrows, and enough to decide by where there are no nodes."""
    zero_is_unset: bool = False
    """Whether a queue's limit or guarantee of nothing but zeros is none at all."""
    queue_findings: Callable[[Queue, Mapping[str, Any], frozenset[Loc]], Iterable[Finding]] | None = None
    """What the doctrine refuses in one queue, given its settings, or none if they are wrong as they stand, and what is
    broken in it; places are relative to the queue."""
    findings: Callable[[Draft, Known], Iterable[Finding]] | None = None
    """What it refuses in the document as a whole, beside what is wrong with the settings of one entry."""
    normal: Callable[[ClusterFile], ClusterFile] | None = None
    """The document with settings that have a key of their own under that key, so that no other code need know both."""
    times: Callable[[ClusterFile, str | None], dict[str, Any]] | None = None
    """The times of the preemption sequence that the file gives a workload of this app, or of none, by the names of a
    server's configuration; `gone_within` is the time from a hint to leave until it is killed, whatever it does."""
    sensitive: SensitiveClass | None = None

    @property
    def editions(self) -> tuple[str, ...]:
        return tuple(self.queues)

    @property
    def settings(self) -> tuple[Setting, ...]:
        """All settings for people: of the cluster, of a queue, of an app."""
        cluster = settings_told("cluster", dict.fromkeys(self.queues, self.cluster))
        apps = () if self.apps is None else settings_told("app", dict.fromkeys(self.queues, self.apps))
        return (*cluster, *settings_told("queue", self.queues), *apps)

    def defaults(self, where: str, edition: str) -> dict[str, Any]:
        """The defaults that one edition has in this place, as they are written in a file."""
        return {
            one.name: one.defaults[edition] for one in self.settings if one.where == where and edition in one.defaults
        }

    def only_in(self, edition: str) -> frozenset[str]:
        """The settings that no other edition has."""
        return frozenset(one.name for one in self.settings if tuple(one.defaults) == (edition,))


Dialects = Mapping[str, Dialect]
"""By the doctrine's name, in the contract's order."""

NO_DOCTRINE = Dialect("", cluster=Open, queues={})
"""Of a file that names no doctrine: nothing is known of its settings."""
