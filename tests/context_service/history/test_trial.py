"""TestMapping: what rules would do, before they are registered."""

from __future__ import annotations

from typing import Any

import grpc
import orjson
import pytest

import context_service.app
from contextkeep.context.v1 import chat_history_pb2 as pb
from contextkeep.errors import CostExceeded, InvalidArgument, InvalidPageToken, LimitExceeded
from tests.calling import AnyRpc
from tests.errors import refused

TEXT = {"role": "'user'", "content": "entity.data.text"}


class Stubs(AnyRpc):
    async def page(self, rules: dict[str, Any], **fields: object) -> pb.TestMappingResponse:
        return await self.TestMapping(rules=rules, **fields)

    async def trials(self, rules: dict[str, Any], **fields: object) -> list[pb.NodeTrial]:
        return list((await self.page(rules, **fields)).nodes)


@pytest.fixture(scope="module")
def stubs(shared_channels: tuple[grpc.aio.Channel, grpc.aio.Channel]) -> Stubs:
    return Stubs(*shared_channels)


def sample(data: object = None, **fields: object) -> pb.SampleNode:
    return pb.SampleNode(data_json=orjson.dumps(data or {}).decode(), **fields)


def ran(trial: pb.NodeTrial) -> list[tuple[str, str | int | None]]:
    """Rule and value of each evaluation."""
    return [(one.rule, one.error or one.value_json) for one in trial.evaluations]


async def test_every_expression_that_ran_shows_its_value_its_error_and_its_time(stubs: Stubs):
    rules = {"filter": "entity.data.n > 0", "messages": [{**TEXT, "when": "entity.data.n > 1"}], "order_by": "n"}

    none, unmatched, given, failed = await stubs.trials(
        rules, nodes=[sample({"n": 0}), sample({"n": 1}), sample({"n": 2, "text": "é"}), sample({"n": 3}, id="mine")]
    )

    assert (none.node_id, none.included, none.decided_by) == ("nodes[0]", False, "rules.filter")
    assert ran(none) == [("rules.filter", "false"), ("rules.order_by", "0")]
    assert (unmatched.included, unmatched.decided_by) == (False, "rules.messages[0].when")
    assert (given.included, given.decided_by) == (True, "rules.messages[0]")
    assert given.messages[0].message.content == "é"
    assert ran(given) == [
        ("rules.filter", "true"),
        ("rules.messages[0].when", "true"),
        ("rules.messages[0].content", '"é"'),
        ("rules.messages[0].role", '"user"'),
        ("rules.order_by", "2"),
    ]
    assert (failed.node_id, failed.included, failed.decided_by) == ("mine", False, "rules.messages[0].content")
    assert "text" in failed.evaluations[2].error
    assert failed.skipped[-1].reason == pb.SKIP_REASON_FAILED
    for trial in (none, unmatched, given, failed):
        assert 0 <= sum(one.duration_us for one in trial.evaluations) <= trial.duration_us < 1_000_000


async def test_a_sample_is_seen_as_a_node_that_was_reached(stubs: Stubs):
    content = (
        "[entity.id, entity.external_id, entity.name, entity.type, entity.general_type, entity.status, edge.type,"
        " string(edge.depth), edge.data.e, root.data.r, entity.io.input, string(entity.created_at),"
        " string(entity.modified_at)].join(' ')"
    )
    node = sample(
        id="i",
        external_id="x",
        name="n",
        type="T",
        input_json='"in"',
        edge_type="E",
        depth=2,
        edge_data_json='{"e":"d"}',
    )
    node.created_at.FromJsonString("2026-01-02T03:04:05Z")

    (trial,) = await stubs.trials(
        {"messages": [{"role": "'user'", "content": content}]}, nodes=[node], root=sample({"r": "root"})
    )

    assert trial.messages[0].message.content == (
        "i x n T T Created E 2 d root in 2026-01-02T03:04:05Z 2026-01-02T03:04:05Z"
    )


async def test_the_elements_of_a_list_are_told_apart(stubs: Stubs):
    rules = {"messages": [{"for_each": "entity.data.list", "role": "'user'", "content": "item"}]}

    (trial,) = await stubs.trials(rules, nodes=[sample({"list": ["a", ""]})])

    shown = [(one.rule, one.element if one.HasField("element") else None) for one in trial.evaluations]
    assert shown == [
        ("rules.messages[0].for_each", None),
        ("rules.messages[0].content", 0),
        ("rules.messages[0].role", 0),
        ("rules.messages[0].content", 1),
    ]
    assert [(one.reason, one.elements) for one in trial.skipped] == [(pb.SKIP_REASON_EMPTY, 1)]


async def test_types_that_the_rules_exclude_are_excluded(stubs: Stubs):
    trials = await stubs.trials(
        {"entity_types": ["A"], "messages": [TEXT]},
        nodes=[
            sample({"text": "1"}, type="A"),
            sample({"text": "2"}, type="B"),
            sample({"text": "3"}, general_type="A"),
        ],
    )

    assert [trial.included for trial in trials] == [True, False, True]
    assert trials[1].decided_by == "rules.entity_types"


async def test_shorthands_are_shown_as_the_rules_that_they_stand_for(stubs: Stubs):
    rules = {"role_field": "by", "content_field": "text", "role_mapping": {"human": "user"}}

    (trial,) = await stubs.trials(rules, nodes=[sample({"by": "human", "text": "hello"})])

    assert trial.decided_by == "rules.messages[0]"
    assert ("rules.messages[0].role", '"user"') in ran(trial)


async def test_what_is_below_a_node_is_tried_page_by_page(stubs: Stubs):
    session_id, _ = await stubs.session(*[{"text": str(n), "n": -n} for n in range(5)])
    listed = await stubs.ListMappings()
    rules = {"messages": [{**TEXT, "metadata": "{'root': root.type}"}], "order_by": "n"}

    said, sizes, token = [], [], ""
    while True:
        page = await stubs.page(rules, node_id=session_id, page_size=2, page_token=token)
        said += [trial.messages[0].message.content for trial in page.nodes]
        sizes.append(len(page.nodes))
        token = page.next_page_token
        if not token:
            break

    assert (said, sizes) == (["0", "1", "2", "3", "4"], [2, 2, 1])
    assert ("rules.order_by", "-4") in ran(page.nodes[0])
    assert await stubs.ListMappings() == listed  # nothing was stored


async def test_samples_come_in_pages_too(stubs: Stubs):
    nodes = [sample({"text": "x" * 400_000}) for _ in range(8)]
    request = {"rules": {"messages": [TEXT]}, "nodes": nodes}

    first = await stubs.page(**request)
    second = await stubs.page(**request, page_token=first.next_page_token)

    assert [len(first.nodes), len(second.nodes)] == [5, 3]
    assert second.next_page_token == ""
    assert [node.node_id for node in second.nodes] == ["nodes[5]", "nodes[6]", "nodes[7]"]
    assert first.nodes[0].evaluations[0].value_left_out
    async with refused(InvalidPageToken):
        await stubs.page(request["rules"], nodes=nodes[1:], page_token=first.next_page_token)


async def test_a_node_with_a_long_list_is_told_in_part(stubs: Stubs):
    rules = {"messages": [{"for_each": "entity.data.list", "role": "'user'", "content": "''"}]}

    (trial,) = await stubs.trials(rules, nodes=[sample({"list": [0] * 5000})])

    assert trial.evaluations_left_out > 0
    assert len(trial.evaluations) + trial.evaluations_left_out == 5001
    assert trial.ByteSize() < 400_000


async def test_a_trial_is_checked(stubs: Stubs):
    session_id, _ = await stubs.session()
    rules = {"messages": [TEXT]}

    async with refused(InvalidArgument, violations=["rules.messages[0].content"], line=1, column=1):
        await stubs.page({"messages": [{**TEXT, "content": "gone"}]}, nodes=[sample()])
    async with refused(InvalidArgument, violations=["node_id"]):
        await stubs.page(rules)
    async with refused(InvalidArgument, violations=["nodes"]):
        await stubs.page(rules, node_id=session_id, nodes=[sample()])
    async with refused(InvalidArgument, violations=["root"]):
        await stubs.page(rules, node_id=session_id, root=sample())
    async with refused(InvalidArgument, violations=["node_id"]):
        await stubs.page(rules, node_id="x")
    async with refused(LimitExceeded, limit="nodes", limit_max=1000, value=1001):
        await stubs.page(rules, nodes=[sample()] * 1001)
    for field, wrong in [
        ("data_json", "[]"),
        ("edge_data_json", "1"),
        ("edges_json", "{}"),
        ("path_json", "7"),
        ("input_json", "{"),
        ("output_json", "NaN"),
        ("name", "a\0"),
        ("depth", -1),
        ("created_at", {"seconds": 2**60}),
        ("modified_at", {"nanos": -1}),
    ]:
        async with refused(InvalidArgument, violations=[f"nodes[1].{field}"]):
            await stubs.page(rules, nodes=[sample(), pb.SampleNode(**{field: wrong})])
    async with refused(LimitExceeded, limit="nodes[0].data_json"):
        await stubs.page(rules, nodes=[sample({"a": "x" * 1024 * 1024})])


async def test_hostile_rules_end_at_the_budget_of_an_evaluation_and_of_a_call(context_settings, callers):
    numbers = "[" + ",".join("1" for _ in range(20)) + "]"
    rules = {"messages": [{**TEXT, "when": f"{numbers}.all(a, {numbers}.all(b, {numbers}.all(c, a == b)))"}]}
    settings = context_settings.model_copy(update={"call_steps_max": 25_000})
    async with (
        context_service.app.running(settings, callers=callers) as port,
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        stubs = Stubs(channel, channel)

        (trial,) = await stubs.trials(rules, nodes=[sample()])
        assert "steps" in trial.evaluations[0].error
        async with refused(CostExceeded, limit_max=25_000):
            await stubs.page(rules, nodes=[sample()] * 3)
