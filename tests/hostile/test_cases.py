"""The table of requests that the tests of this folder share knows every RPC, and every field that names something."""

from __future__ import annotations

import re
from typing import Any

import pytest
from google.protobuf.message import Message

from tests.hostile.things import CASES, RPCS, Things, cases
from tests.rpcs import Rpc, all_rpcs, dotted, fields

HOW = "add one to tests/cases/strangers/requests.yaml"

# Fields that name something of a tenant's, by how they are called.
NAMES = re.compile(r"^(name|names|(.*_)?ids?|(.*_)?keys?|mapping_name|external_id|app_id|request_id)$")
# What is called so, and names nothing that is stored.
NAMES_NOTHING = {
    "agent_bundle_id",  # a label
    "agent_id",  # whoever says that he speaks
    "tool_call_id",  # of the call that a part of the same message may have, as the next ones
    *(
        f"{of}.parts.tool_call.{field}"
        for of in ("message", "messages", "task.status.message", "artifact")
        for field in ("id", "name")
    ),
    *(
        f"{of}.parts.{file}.name"  # of a file
        for of in ("message", "messages", "task.status.message", "artifact")
        for file in ("file", "tool_result.files")
    ),
    "message.name",
    "task.status.message.name",
    "artifact.name",
    "messages.name",
    "rules.messages.name",  # an expression
    "rules.role_mapping.key",  # the key of a map
    "providers.ids",  # of providers, which are the service's, as the next one
    "question.providers.ids",
    "setting.provider_id",
    *(f"{of}.policy.{which}.ids" for of in ("agent", "template") for which in ("allowed", "defaults")),
    "agent.callers.agent_ids",  # of credentials
    "set.key",  # of a window's state, as the next one: the window is what is named
    "remove.key",
    "pack_id",  # a count of epochs and messages: its window is what is named
    "page.sources.id",  # whatever its writer says
    "knowledge_base.bedrock.knowledge_base_id",  # of Amazon's
    "root.id",  # of a node that need not exist, as the next two
    "root.external_id",
    "root.name",
}


@pytest.mark.parametrize("rpc", all_rpcs(), ids=str)
def test_every_rpc_has_requests_and_every_field_that_names_something_is_in_one(rpc: Rpc):
    things = Things()
    made = cases(rpc, things)
    assert made, f"{rpc} has no request: {HOW}"
    said = "\n".join(str(message) for case in made for message in _messages(case))
    named = {field for case in made for message in _messages(case) for field in _set_fields(message, things.values())}
    for path in fields(rpc.request.DESCRIPTOR):
        if path[-1].message_type is not None:
            continue  # its own fields are walked, too
        if NAMES.match(path[-1].name) and not {dotted(path), path[-1].name} & NAMES_NOTHING:
            assert dotted(path) in named, f"no request of {rpc} names something in {dotted(path)}: {HOW}\n{said}"


def test_no_request_is_of_an_rpc_that_is_not_there():
    assert set(CASES) <= set(RPCS)


def _messages(case: Any) -> list[Message]:
    return [case] if isinstance(case, Message) else list(case)


def _set_fields(message: Message, values: list[str], path: str = "") -> set[str]:
    """Return the paths of the fields that hold one of `values`."""
    found = set()
    for field, value in message.ListFields():
        here = f"{path}{field.name}"
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            continue
        for one in value if field.is_repeated else [value]:
            if isinstance(one, Message):
                found |= _set_fields(one, values, f"{here}.")
            elif one in values:
                found.add(here)
    return found
