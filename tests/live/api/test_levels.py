"""The times of a workload come from the nearest level that gives them."""

from typing import Any

from cede.doctrines.document import parse_document
from cede.live.config import ServerConfig, Times
from cede.live.terms import terms_of
from cede.model.times import SECOND

LATTICE = {"name": "lattice", "grace_period": "7s", "max_deferral": "8s", "timeout_extension": 0.25}


def terms(queue: str | None = None, doctrine: object = "kueue", times: dict[str, Any] | None = None) -> Any:
    config = ServerConfig.model_validate(
        {"times": {"grace_period": "20s"}, "queues": {"quick": {"grace_period": "3s", "requeue": "always"}}}
    )
    document = parse_document({"cede": 1, "doctrine": doctrine})
    return terms_of(config, document, queue, Times.model_validate(times or {}))


def test_without_any_level_the_defaults_count() -> None:
    assert (terms().checkpoint_timeout, terms().requeue) == (600 * SECOND, "on_node_failure")


def test_the_server_overrules_the_doctrine_of_the_cluster_file() -> None:
    made = terms(doctrine=LATTICE)

    assert (made.grace_period, made.max_deferral, made.timeout_extension) == (20 * SECOND, 8 * SECOND, 0.25)


def test_the_queue_overrules_the_server_and_the_workload_the_queue() -> None:
    assert (terms("quick").grace_period, terms("quick").requeue) == (3 * SECOND, "always")
    assert terms("quick", times={"grace_period": 0}).grace_period == 0
    assert terms("slow").grace_period == 20 * SECOND


YTSAURUS = {"name": "ytsaurus", "allocation_preemption_timeout": "12s"}
APPS = [
    {"name": "soft", "settings": {"preemption_mode": "graceful"}},
    {"name": "quick", "settings": {"allocation_preemption_timeout": "5s"}},
]


def interrupted(app: str | None = None, *, server: dict[str, Any] | None = None, **times: Any) -> Any:
    document = parse_document({"cede": 1, "doctrine": YTSAURUS, "apps": APPS})
    config = ServerConfig.model_validate({"times": server or {}})
    return terms_of(config, document, None, Times.model_validate(times), app=app, answers=True)


def test_under_ytsaurus_who_is_interrupted_must_be_gone_within_the_timeout_of_its_operation() -> None:
    for app, seconds in ((None, 12), ("soft", 60), ("quick", 5), ("other", 12)):
        made = interrupted(app)
        assert (made.checkpoint_timeout, made.gone_within) == (seconds * SECOND, seconds * SECOND)
        assert (made.timeout_extension, made.max_deferral) == (0, 0)
        assert made.grace_period == min(30, seconds) * SECOND


def test_times_that_somebody_gives_overrule_those_of_ytsaurus() -> None:
    made = interrupted(server={"checkpoint_timeout": "5m"}, grace_period="40s")
    assert (made.checkpoint_timeout, made.grace_period, made.gone_within) == (300 * SECOND, 40 * SECOND, None)

    made = interrupted(grace_period="3s")
    assert (made.checkpoint_timeout, made.grace_period, made.gone_within) == (12 * SECOND, 3 * SECOND, 12 * SECOND)
