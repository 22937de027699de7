"""Every Kueue decision says why, and its verdicts agree with it."""

from hypothesis import given

import cede
from cede.doctrines.kueue.rules import RULES
from cede.model.plan import VERDICTS
from tests.properties.documents import KUEUE, Document, documents
from tests.sampling import examples

RULE_IDS = {rule.id: rule for rule in RULES}
TAKES = {"within-cluster-queue", "reclaim-within-cohort", "borrow-within-cohort", "fair-sharing"}
STAYS = {"not-needed", "not-reached", "not-enough"}
HOLDS = ("reserved", "running", "checkpointing", "preempting")


def root_of(document: Document, name: str) -> str:
    parents = {queue["name"]: queue.get("parent") for queue in document["queues"]}
    while parents.get(name) is not None:
        name = parents[name]
    return name


@examples(100)
@given(documents(KUEUE))
def test_every_sentence_is_filled_in(document: Document) -> None:
    for made in cede.plan(cede.load(document), explain=True).decisions:
        said = [(made.rule, made.why), *((one.rule, one.why) for one in made.warnings)]
        said += [(one.rule, one.why) for one in made.candidates or ()]
        said += [(one.rule or made.rule, one.why) for one in made.nearest_miss]
        for rule, why in said:
            assert rule in RULE_IDS
            assert why.strip() == why
            assert not set("‹›{}") & set(why)
            assert not any(gap in why for gap in ("  ", ": ;", "()", ", ,"))
        assert RULE_IDS[made.rule].kind == {"wait": "waits", "refuse": "refuses"}.get(made.action, "admits")


@examples(100)
@given(documents(KUEUE))
def test_verdicts_agree_with_the_decision(document: Document) -> None:
    for made in cede.plan(cede.load(document), explain=True).decisions:
        rules = {one.workload: (one.verdict, one.rule.partition(".")[2]) for one in made.candidates or ()}
        taken = {name for name, (verdict, _) in rules.items() if verdict == "victim"}
        assert taken == {victim.workload for victim in made.victims}
        for verdict, rule in rules.values():
            assert verdict in VERDICTS
            assert (verdict == "victim") is (rule in TAKES)
            assert (verdict == "not-needed") is (rule in STAYS)
            assert not (rule == "not-enough" and made.action == "preempt")


@examples(100)
@given(documents(KUEUE))
def test_whoever_searches_is_told_of_everybody_who_holds_room_in_its_tree(document: Document) -> None:
    works = {work["name"]: work for work in document["workloads"]}
    here: dict[str, list[str]] = {}
    for name in sorted(works):
        if works[name].get("state") in HOLDS and "queue" in works[name]:
            here.setdefault(root_of(document, works[name]["queue"]), []).append(name)
    for made in cede.plan(cede.load(document), explain=True).decisions:
        if made.action == "preempt" or made.rule in ("kueue.no-victims", "kueue.share-recheck"):
            tree = root_of(document, works[str(made.workload)]["queue"])
            assert [one.workload for one in made.candidates or ()] == here.get(tree, [])
