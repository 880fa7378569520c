"""A context filled from a chat history of the graph, so that sessions kept there are recalled.

The history stays the truth: what comes of a node by a mapping is written once for each version of the node, and what
came of an older version is retracted behind it. A page of nodes is read, compared with what the context has of them,
and written. So a sync of any length holds one page, and one that breaks off goes on when it is called again.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import orjson

from context_service.contexts.entities import id_prefix
from context_service.contexts.messaging import Messaging, Target
from context_service.contexts.model import MESSAGES_MAX, MessageInput
from context_service.contexts.secrets import without_secret
from context_service.history.context_assembly import AssembledNode, AssemblyQuestion, ContextAssembly
from context_service.history.mappings import DEFAULT_NAME
from context_service.history.messages import ChatMessage, size_bytes
from context_service.history.node_mapper import Given, SkipReason
from context_service.parts import to_json
from service_runtime.auth import Principal
from service_runtime.documents import beside_the_loop

_NODES = 100  # of a page
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncQuestion:
    """Which history, read how."""

    node_id: str
    app_id: str
    mapping_name: str  # empty: the default


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """What a sync did."""

    context_id: UUID | None = None  # None: there was nothing to begin one with
    created: bool = False
    appended: int = 0
    retracted: int = 0
    unchanged: int = 0  # messages that were there
    nodes_failed: int = 0  # on which a rule failed: what the context has of them stays
    roles_unknown: int = 0


class Syncing:
    """Fills contexts from histories.

    Args:
        assembly: Reads histories with where each message comes from.
        messaging: Writes contexts.
    """

    def __init__(self, assembly: ContextAssembly, messaging: Messaging) -> None:
        self._assembly = assembly
        self._messaging = messaging

    async def sync(self, target: Target, question: SyncQuestion, *, reader: Principal, writer: Principal) -> Synced:
        """Write what a context lacks of a history, in the mapping's order, and retract what changed there.

        Nodes that the history has no longer keep their messages: not to see a node does not say that it is gone. If it
        fails half-way, what is written stays, and the next sync goes on.

        Args:
            target: The context; a new one is begun by the first message.
            question: Which history.
            reader: Who reads the graph.
            writer: Who writes the context; he may act for a user.

        Raises:
            ContextNotFound, ContextClosed: of the target, before anything is read.
            NodeNotFound, MappingNotFound, CostExceeded, Unavailable: see `ContextAssembly.page`.
            RecordNotFound, LimitExceeded: of a message that cannot be written; see `Messaging.send`.
        """
        synced = Synced(context_id=await self._messaging.taking(target, principal=writer))
        mapping = _crc(f"{question.app_id}/{question.mapping_name or DEFAULT_NAME}")
        token = ""
        while True:
            page = await self._assembly.page(
                reader,
                AssemblyQuestion(
                    node_id=question.node_id,
                    app_id=question.app_id,
                    mapping_name=question.mapping_name,
                    max_messages=0,
                    data_paths=(),
                    page_size=_NODES,
                    page_token=token,
                ),
            )
            synced = await self._write(target, page.nodes, synced, mapping=mapping, writer=writer)
            token = page.next_page_token
            if not token:
                return synced

    async def _write(
        self, target: Target, nodes: Sequence[AssembledNode], synced: Synced, *, mapping: str, writer: Principal
    ) -> Synced:
        failed = [one for one in nodes if any(skip.reason is SkipReason.FAILED for skip in one.outcome.skips)]
        read = [one for one in nodes if one not in failed]
        said = [message for one in read for message in await _messages(one, mapping)]
        there: dict[str, bool] = {}  # what the context has of these nodes, and whether it is retracted
        if synced.context_id:
            prefixes = [id_prefix(one.node.node_id) for one in read]
            there = await self._messaging.ids_beginning(synced.context_id, prefixes, principal=writer)
        new = [one for one in said if one.message_id not in there]
        for start in range(0, len(new), MESSAGES_MAX):
            some = new[start : start + MESSAGES_MAX]
            paths = [f"messages[{one.message_id}]" for one in some]
            written = await self._messaging.send(target, some, paths=paths, principal=writer, request=None)
            synced = replace(synced, context_id=written.context_id, created=synced.created or written.created)
            target = Target(context_id=written.context_id)
        current = {one.message_id for one in said}
        old = [
            message_id
            for message_id, is_retracted in there.items()
            if message_id not in current and not is_retracted and _mapping(message_id) == mapping
        ]
        retracted = 0
        for start in range(0, len(old), MESSAGES_MAX):
            assert synced.context_id, "what is there is in a context"
            ids = old[start : start + MESSAGES_MAX]
            retracted += await self._messaging.retract(synced.context_id, ids, principal=writer, request=None)
        skips = [skip for one in read for skip in one.outcome.skips if skip.reason is SkipReason.ROLE_UNKNOWN]
        return replace(
            synced,
            appended=synced.appended + len(new),
            retracted=synced.retracted + retracted,
            unchanged=synced.unchanged + len(said) - len(new),
            nodes_failed=synced.nodes_failed + len(failed),
            roles_unknown=synced.roles_unknown + sum(skip.elements for skip in skips),
        )


async def _messages(one: AssembledNode, mapping: str) -> list[MessageInput]:
    """Return the messages of a node, without their secrets; parts are parsed to find these."""
    size = sum(size_bytes(given.message) for given in one.outcome.given)
    return await beside_the_loop(size, _said, one, mapping)


def _said(one: AssembledNode, mapping: str) -> list[MessageInput]:
    assert one.node.reached is not None, "the walk was asked how it reached its nodes"
    version = one.node.reached.modified_at_us
    said, places = [], dict[str, int]()
    for given in one.outcome.given:
        place = places[given.rule] = places.get(given.rule, -1) + 1
        message_id = f"{id_prefix(one.node.node_id)}{version}:{mapping}:{_source(given)}.{place}"
        said.append(_input(given.message, message_id))
    return said


def _input(message: ChatMessage, message_id: str) -> MessageInput:
    kept = [(part, without_secret(part)) for part in message.parts]
    return MessageInput(
        message_id=message_id,
        role=message.role,
        content=message.content,
        parts=tuple(without or part for part, without in kept),
        name=message.name,
        metadata_json=message.metadata_json,
        said_at=_EPOCH + timedelta(microseconds=message.created_at_us),
        redacted=tuple(place for place, (_, without) in enumerate(kept) if without),
    )


def _mapping(message_id: str) -> str:
    """Return what stands for the mapping in an id of ours; empty of others."""
    pieces = message_id.split(":")
    return pieces[3] if len(pieces) == 5 else ""


def _source(given: Given) -> str:
    """Return what tells what was said and by which rule: of a node's input and output its version does not tell."""
    message = given.message
    content = [message.role, message.content, to_json(message.parts), message.name, message.metadata_json]
    number = _NUMBER.search(given.rule)
    return f"{_crc(orjson.dumps(content).decode())}-{number[0] if number else 0}"


def _crc(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"
