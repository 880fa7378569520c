"""Requests that were made to hold up everybody else, each of which once did. To add one: a line in `ATTACKS`.

They need nothing that is there before, so that any run can make them beside what it does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from google.protobuf.message import Message

from contextkeep.context.v1 import chat_history_pb2 as history
from contextkeep.context.v1 import context_windows_pb2 as windows
from contextkeep.context.v1 import contexts_pb2 as contexts
from contextkeep.context.v1 import message_pb2
from contextkeep.context.v1 import tools_pb2 as tools
from contextkeep.context.v1 import working_memory_pb2 as memory
from contextkeep.entity.v1 import entity_graph_pb2 as graph
from service_runtime.inputs.documents import CONTAINERS_MAX
from service_runtime.values.ids import new_id

_MIB = 1024 * 1024
_LEVELS = 96


def _filled(member: str, *, containers: int = 0) -> str:
    """Return an object with a list of one member again and again: a MiB of it, or as many as a document may hold.

    Args:
        member: JSON.
        containers: Lists and objects in one; 0: as much as fits a MiB.
    """
    fit = (_MIB - 16) // (len(member) + 1)
    if containers:
        fit = min(fit, (CONTAINERS_MAX - 2) // containers)
    return '{"a":[' + ",".join([member] * fit) + "]}"


_NESTED = "[" * _LEVELS + "]" * _LEVELS
DOCUMENTS = {
    "a MiB of brackets": _filled("[]"),
    "a MiB of nested brackets": _filled(_NESTED),
    "as many lists as may be": _filled("[]", containers=1),
    "as many nested lists as may be": _filled(_NESTED, containers=_LEVELS),
    "as many objects as may be": _filled('{"":1}', containers=1),
    "numbers with exponents": _filled("1e1"),
    "numbers": _filled("1.5"),
    "empty texts": _filled('""'),
    "brackets in texts": _filled('"["'),
    "escapes": _filled('"\\\\"'),
}
_WORST = ("as many nested lists as may be", "as many objects as may be")
_MESSAGE_BYTES = 4 * _MIB - 1024


def _doubled(levels: int) -> str:
    """Return an expression whose value is written with 2 ** levels members, and made with as many steps as levels."""
    source = f"v{levels - 1}"
    for level in reversed(range(levels)):
        made = "{'a':1}" if level == 0 else f"{{'a':v{level - 1},'b':v{level - 1}}}"
        source = f"cel.bind(v{level},{made},{source})"
    return source


def _trial(*samples: history.SampleNode, **fields: str) -> Message:
    rule = history.MessageRule(role="'user'", **{"content": "'a'", **fields})
    return history.TestMappingRequest(rules=history.MappingRules(messages=[rule]), nodes=samples)


def _of_documents() -> Iterator[tuple[str, str, Message]]:
    for name, text in DOCUMENTS.items():
        nodes = [graph.NodeInput(general_type_name="T", data_json=text)] * (_MESSAGE_BYTES // (len(text) + 64))
        yield f"nodes: {name}", "WriteGraph", graph.WriteGraphRequest(nodes=nodes)
        if '"' not in text[8:] and "1" not in text:  # words of a content are indexed, which Postgres takes long for
            record = memory.WMRecordInput(memory_type="m", name="n", content_json=text)
            yield f"content: {name}", "InsertWMRecord", memory.InsertWMRecordRequest(record=record)
        samples = [history.SampleNode(type="T", data_json=text)] * (_MESSAGE_BYTES // (len(text) + 64))
        yield f"samples: {name}", "TestMapping", _trial(*samples)
        arguments = json.dumps({"name": "n", "content": "c", "metadata": 0})[:-2] + text + "}"
        call = tools.ExecuteToolRequest(tool_name="wm_upload", arguments_json=arguments)
        yield f"arguments: {name}", "ExecuteTool", call
        wanted = graph.NodeFilter(contains_json=text)
        yield f"a filter: {name}", "CountNodes", graph.CountNodesRequest(filter=wanted)


_TEXTS = {
    "a MiB without a space": "x" * _MIB,
    "a MiB of base64": ("QUJD" * 24 + "0+/=") * (_MIB // 100),
    "words": "wanderers were wandering " * (_MIB // 25),
    "short sentences": "A. b? " * (_MIB // 6),
    "lines": "a\n" * (_MIB // 2),
    "signs": "-." * (_MIB // 2),
    "Chinese": "\u6211\u4eec" * (_MIB // 6),
    "marks on one letter": "a" + "\u0301" * (_MIB // 2 - 8),
    "pictures": "\U0001f993" * (_MIB // 4),
}


def _of_contexts() -> Iterator[tuple[str, str, Message]]:
    for name, text in _TEXTS.items():
        yield f"a message: {name}", "SendMessage", _said(text)
    for name in ("as many objects as may be", "numbers", "a MiB of nested brackets"):
        part = message_pb2.Part(data_json=DOCUMENTS[name])
        request = contexts.SendMessageRequest(message=message_pb2.MessageInput(parts=[part]))
        yield f"a data part: {name}", "SendMessage", request
    typed = message_pb2.Part(data_json=_filled('{"type":1}', containers=1))  # looked through for secrets
    said = message_pb2.MessageInput(parts=[typed] * 5)
    yield "data parts with types", "SendMessage", contexts.SendMessageRequest(message=said)
    many = [message_pb2.MessageInput(content="wanderers were wandering " * 300)] * 500
    yield "five hundred messages", "AppendMessages", contexts.AppendMessagesRequest(messages=many)


def _said(text: str) -> Message:
    return contexts.SendMessageRequest(message=message_pb2.MessageInput(content=text))


def _of_windows() -> Iterator[tuple[str, str, Message]]:
    """What is counted, and parsed, before it is looked whether there is such a context."""
    for name, text in _TEXTS.items():
        prompt = text.encode()[: 256 * 1024].decode(errors="ignore")
        yield f"a system prompt: {name}", "OpenWindow", _opening(system_prompt=prompt)
    for name in ("as many objects as may be", "numbers", "a MiB of nested brackets", "as many nested lists as may be"):
        yield f"tools: {name}", "OpenWindow", _opening(tools_json=f"[{DOCUMENTS[name]}]")


def _opening(**fields: str) -> Message:
    return windows.OpenWindowRequest(context_id=str(new_id()), model="m", context_tokens=10_000_000, **fields)


_CHARS = 4096  # of an expression


def _expressions() -> Iterator[tuple[str, str, Message]]:
    sample = history.SampleNode(type="T", data_json="{}")
    for unit in ("1+", "[],", "(((1)))+", "true?1:", "{1:1},", "!", "-"):
        body = unit * ((_CHARS - 100) // len(unit)) + "1"
        source = f"string([{body}].size())" if unit.endswith(",") else f"string({body})"
        yield f"an expression of {unit}", "TestMapping", _trial(sample, content=source)
        fields = dict.fromkeys(("role", "content", "name"), source)
        rule = history.MessageRule(**fields, when=f"{source} != ''", parts=f"[{source}]", metadata=f"{{'a':{source}}}")
        rules = history.MappingRules(messages=[rule] * 9)
        request = history.TestMappingRequest(rules=rules, nodes=[sample])
        yield f"nine rules of six expressions of {unit}", "TestMapping", request
    pattern = "(" * 200 + "a" + "{1,30})" * 200
    for field in ("content", "when"):
        value = f"'a'.matches('{pattern}')" + ("" if field == "when" else "? 'a': 'b'")
        yield f"a pattern in `{field}`", "TestMapping", _trial(sample, **{field: value})


def _others() -> Iterator[tuple[str, str, Message]]:
    sample = history.SampleNode(type="T", data_json="{}")
    for levels in (10, 20, 40):
        for field in ("content", "metadata", "when"):
            value = _doubled(levels)
            value = f"{value} == {value}" if field == "when" and levels < 40 else value
            yield f"a value that doubles {levels} times in `{field}`", "TestMapping", _trial(sample, **{field: value})
    for path in (
        '$.kind == "x" && $.secret starts with "s" && $y == 1',
        '$.at.datetime() < "2026-01-01".datetime() && $.kind == "x"',
    ):
        wanted = graph.NodeFilter(json_path=path)
        yield f"an oracle: {path}", "CountNodes", graph.CountNodesRequest(filter=wanted)
        yield f"an oracle that reads: {path}", "SearchNodes", graph.SearchNodesRequest(filter=wanted)


WRITES = frozenset(
    {"WriteGraph", "InsertWMRecord", "SendMessage", "AppendMessages"}
)  # RPCs of those that may leave something

# The name of each, its RPC and its request.
ATTACKS: tuple[tuple[str, str, Message], ...] = (
    *_of_documents(),
    *_of_contexts(),
    *_of_windows(),
    *_expressions(),
    *_others(),
)


def is_tried(name: str) -> bool:
    """Say whether each run of the tests makes an attack; `make fuzz` makes all.

    Every document is tried in a node, and the two that take longest everywhere; an expression in nine rules is the
    same one fifty-four times.
    """
    where, _, document = name.partition(": ")
    is_of_document = document in DOCUMENTS and where in ("content", "samples", "arguments", "a filter")
    return not ((is_of_document and document not in _WORST) or name.startswith("an expression of "))
