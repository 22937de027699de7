"""The times of a workload come from the nearest level that gives them."""

from typing import Any

from cede.live.config import ServerConfig, Times
from cede.live.terms import terms_of
from cede.model.document import parse_document
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
