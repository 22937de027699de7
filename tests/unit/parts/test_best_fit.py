"""The index of nodes by what is free places members as the search over all nodes does."""

from __future__ import annotations

from random import Random

import pytest

from cede.doctrines.document import parse_document
from cede.doctrines.parts.best_fit import NodeIndex, Shape
from cede.doctrines.parts.claim import claim_of
from cede.doctrines.parts.fit import place
from cede.model.cluster import Workload
from cede.state.build import build
from cede.state.trial import Trial


@pytest.mark.parametrize("seed", range(20))
def test_members_go_where_the_search_over_all_nodes_puts_them(seed: int) -> None:
    dice = Random(seed)
    sizes = [(dice.choice([4, 8]), dice.choice([16, 32])) for _ in range(dice.randint(1, 12))]
    nodes = [{"name": f"n{dice.random()}", "capacity": {"gpu": gpu, "cpu": cpu}} for gpu, cpu in sizes]
    state = build(parse_document({"cede": 1, "doctrine": "backendai", "nodes": nodes, "queues": [{"name": "q"}]}))
    index = NodeIndex(state, 0)

    with Trial(state) as trial:
        for number in range(40):
            requests = {"gpu": dice.choice([0, 1, 2, 3]), "cpu": dice.choice([1, 2, 5])}
            entry = {"name": f"w{number}", "queue": "q", "requests": requests, "members": dice.choice([1, 1, 2, 5])}
            entry["exclusive"] = dice.random() < 0.1
            row = state.submit(Workload.model_validate(entry))
            claim = claim_of(state, row)
            need = tuple((column, int(claim.vectors[0][column])) for column in claim.columns)
            found = index.place(Shape(need, claim.members, len(claim.vectors[0])))
            assert found == place(state, claim)
            if found is not None:
                trial.book(row, found)
                index.book(found, need)
