"""The server does what its OpenAPI document says, whatever is sent to it."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode, checks
from schemathesis.core.result import Ok
from schemathesis.specs.openapi import checks as openapi

from tests.live.api.serving import CLUSTER, Running, serving

CHECKS = [
    checks.not_a_server_error,
    openapi.status_code_conformance,
    openapi.content_type_conformance,
    openapi.response_headers_conformance,
    openapi.response_schema_conformance,
    openapi.ignored_auth,
]
# Nothing starts here: what is submitted is made up.
ASLEEP = CLUSTER | {"nodes": [node | {"state": "cordoned"} for node in CLUSTER["nodes"]]}
ANSWERS_WITHIN_S = 60  # of which a log may wait for 30, if it is asked to
EXAMPLES = 15


@pytest.fixture(scope="module")
def asleep(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(tmp_path_factory.mktemp("asleep"), cluster=ASLEEP) as made:
        for name in ("a", "0"):
            made.submit(name=name).raise_for_status()
        yield made


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_whatever_is_sent_is_answered_as_the_document_says(asleep: Running) -> None:
    document = schemathesis.openapi.from_url(f"{asleep.url}/api/v1/openapi.json")
    described = [result.ok() for result in document.get_all_operations() if isinstance(result, Ok)]
    # A token that is revoked, least of all our own, would make the rest of the test one of refusals.
    operations = [operation for operation in described if operation.method.upper() != "DELETE"]
    for operation in operations:
        try_out(operation.as_strategy(generation_mode=GenerationMode.POSITIVE), asleep)
        with suppress(Unsatisfiable):  # nothing is wrong to send where nothing is sent
            try_out(operation.as_strategy(generation_mode=GenerationMode.NEGATIVE), asleep)

    assert len(operations) >= 20


def try_out(cases: Any, running: Running) -> None:
    headers = {"Authorization": f"Bearer {running.tokens['root-admin']}"}

    @given(case=cases)
    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    def conforms(case: Any) -> None:
        if isinstance(case.query, dict) and case.query.get("follow") not in (None, False, "false"):
            case.query["follow"] = "false"  # a stream has no end that could be waited for
        case.call_and_validate(headers=headers, checks=CHECKS, timeout=ANSWERS_WITHIN_S)

    conforms()
