"""Counts over a window's steps: the calls and failures of each tool, and the mentions of things.

Each step that a pack shows keeps its own counts. When a fold (one compaction of a window) removes steps, their counts
are added up. If these sums have too many names, only the most frequent names are kept. Values in, values out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

import orjson

from context_service.contexts.model import Message
from context_service.contexts.pure.entities import ID_PREFIX
from context_service.kernel.rendering import Call
from context_service.packing.pure.state.task_state import KEY_CHARS_MAX

TOOL, ENTITY = "tool", "entity"  # sections of the state
STEPS_MIN = 2  # a thing is reported if at least this many steps mention it
ANSWERED_MAX = 50  # the most tools, and the most things, that an answer has
TOOLS_MAX, ENTITIES_MAX = 200, 500  # the most tools and things in the sums over removed steps
_OF_STEP_MAX = 100  # the most tools that one step counts
_NODES_OF_MESSAGE_MAX = 20
_DATA_CHARS_MAX = 65_536

_NODE_KEYS = ("entity_node_id", "entity_node_ids", "node_id", "node_ids")
AFTER_NAMES = ".-"  # signs after a name, such as the full stop of a sentence, that the pattern of names includes
_FILE = re.compile(r"/|\.[A-Za-z][A-Za-z0-9]{0,4}\Z")


class ToolUse(NamedTuple):
    """How often a step called a tool, and with what success."""

    name: str
    calls: int
    failures: int


@dataclass(frozen=True, slots=True)
class Tally:
    """How often a name occurred.

    Attributes:
        count: The calls of a tool; for other names, the steps that mention them.
        failures: The calls of a tool that ended with an error.
        step: The number of the last step that has the name.
        seq: The `seq` of the first message of that step.
    """

    count: int
    failures: int
    step: int
    seq: int

    def with_more(self, other: Tally) -> Tally:
        """Return the sum of both tallies."""
        last = max(self, other, key=lambda tally: tally.step)
        return Tally(self.count + other.count, self.failures + other.failures, last.step, last.seq)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTally:
    """The names that one step mentions, and the tools that it used."""

    step: int
    seq: int
    names: Sequence[str]
    tools: Sequence[ToolUse]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tallies:
    """Tallies over several steps, by name, the most frequent first."""

    tools: Mapping[str, Tally]
    entities: Mapping[str, Tally]

    def most(self, sections: Collection[str]) -> Tallies:
        """Return the most frequent names of the wanted sections, at most `ANSWERED_MAX` of each.

        A thing that only one step mentions is left out, unless its name is the id of an entity node.
        """
        tools = islice(self.tools.items(), ANSWERED_MAX if TOOL in sections else 0)
        several = ((name, tally) for name, tally in self.entities.items() if tally.count >= STEPS_MIN or _node_id(name))
        entities = islice(several, ANSWERED_MAX if ENTITY in sections else 0)
        return Tallies(tools=dict(tools), entities=dict(entities))


NO_TALLIES = Tallies(tools={}, entities={})


def uses_of(calls: Iterable[Call]) -> list[ToolUse]:
    """Return for each tool that a step called how often it was called and failed, sorted by name."""
    counts_by_tool: dict[str, list[int]] = {}
    for call in calls:
        counts = counts_by_tool.setdefault(call.call.name[:KEY_CHARS_MAX], [0, 0])
        counts[0] += 1
        counts[1] += call.result is not None and call.result.is_error
    return [ToolUse(name, *counts) for name, counts in sorted(counts_by_tool.items())][:_OF_STEP_MAX]


def nodes_in(message: Message) -> set[str]:
    """Return the ids of entity nodes that a message names in its own id, its metadata or its data."""
    nodes: list[Any] = []
    if message.message_id.startswith(ID_PREFIX):
        nodes.append(message.message_id.removeprefix(ID_PREFIX).partition(":")[0])
    documents = [
        message.metadata_json,
        *(text for part in message.parts for text in (part.metadata_json, part.data_json)),
    ]
    for text in documents:
        if not text or len(text) > _DATA_CHARS_MAX or "node_id" not in text:
            continue
        fields = _document(text)
        for value in map(fields.get, _NODE_KEYS):
            nodes += value if isinstance(value, list) else [value]
    ids = dict.fromkeys(str(result) for result in map(_node_id, nodes) if result)
    return set(list(ids)[:_NODES_OF_MESSAGE_MAX])


def add_tallies(before: Tallies, steps: Iterable[StepTally]) -> Tallies:
    """Return tallies to which those of more steps were added."""
    tools, entities = dict(before.tools), dict(before.entities)
    for step in steps:
        for use in step.tools:
            _add(tools, use.name, Tally(use.calls, use.failures, step.step, step.seq))
        # "src/main.py." at the end of a sentence is the same path as "src/main.py".
        for name in {name.rstrip(AFTER_NAMES) for name in step.names}:
            _add(entities, name, Tally(1, 0, step.step, step.seq))
    return Tallies(tools=_ordered(tools), entities=_ordered(entities))


def kind_of(name: str) -> str:
    """Return the kind of a mentioned name: "node", "path" or "name"."""
    if _node_id(name):
        return "node"
    return "path" if _FILE.search(name) else "name"


def parse_tallies(text: str) -> Tallies:
    """Return the tallies that `tallies_json` wrote."""
    fields = orjson.loads(text)
    tools, entities = (
        {name: Tally(*counts) for name, counts in fields.get(section, {}).items()} for section in (TOOL, ENTITY)
    )
    return Tallies(tools=tools, entities=entities)


def tallies_json(tallies: Tallies) -> str:
    """Return tallies as JSON, at most `TOOLS_MAX` tools and `ENTITIES_MAX` things, the most frequent."""
    by_kind = {TOOL: (tallies.tools, TOOLS_MAX), ENTITY: (tallies.entities, ENTITIES_MAX)}
    parameters = {
        section: {
            name: (tally.count, tally.failures, tally.step, tally.seq) for name, tally in list(of.items())[:count_max]
        }
        for section, (of, count_max) in by_kind.items()
    }
    return orjson.dumps(parameters).decode()


def _add(tallies: dict[str, Tally], name: str, more: Tally) -> None:
    """Add a tally to the tally of a name, if there is one already."""
    before = tallies.get(name)
    tallies[name] = before.with_more(more) if before else more


def _ordered(tallies: Mapping[str, Tally]) -> dict[str, Tally]:
    """Sort tallies: the most frequent first, then those of the latest step, then by name."""
    return dict(sorted(tallies.items(), key=lambda item: (-item[1].count, -item[1].step, item[0])))


def _document(text: str) -> dict[str, Any]:
    """Parse a JSON object; return an empty one if the text is not a JSON object."""
    try:
        fields = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return fields if isinstance(fields, dict) else {}


def _node_id(value: object) -> UUID | None:
    """Return a value as the id of an entity node, or None if it is not a UUID in its usual form."""
    try:
        return UUID(value) if isinstance(value, str) and len(value) == len(str(UUID(int=0))) else None
    except ValueError:
        return None
