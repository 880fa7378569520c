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

from context_service.contexts.model import MESSAGES_MAX, MessageInput
from context_service.contexts.pure.entities import id_prefix
from context_service.contexts.pure.secrets import without_secret
from context_service.contexts.rules.messages import Messaging, SendTarget, SentMessages
from context_service.history.model import ChatMessage, size_bytes
from context_service.history.pure.mappings import DEFAULT_NAME
from context_service.history.pure.node_mapper import RuleMessage, SkipReason
from context_service.history.rules.assemble_context import AssembledNode, AssemblyQuestion, ContextAssembly
from context_service.kernel.parts import to_json
from contextkeep.errors import ContextKeepError, InvalidArgument, LimitExceeded, RecordNotFound
from service_runtime.auth import Principal
from service_runtime.copying import copied
from service_runtime.documents import beside_the_loop

_NODES = 100  # of a page
_TOLD_MAX = 20  # messages that are left out, of which it is told why
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncQuestion:
    """Which history, read how."""

    node_id: str
    app_id: str
    mapping_name: str  # empty: the default


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A message that a context does not take."""

    message_id: str
    error: ContextKeepError  # why

    @property
    def node_id(self) -> str:
        """The node that it came of."""
        return self.message_id.split(":")[1]


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
    left_out: int = 0
    told: tuple[LeftOut, ...] = ()  # the first of those that are left out


class Syncing:
    """Fills contexts from histories.

    Args:
        assembly: Reads histories with where each message comes from.
        messaging: Writes contexts.
    """

    def __init__(self, assembly: ContextAssembly, messaging: Messaging) -> None:
        self._assembly = assembly
        self._messaging = messaging

    async def sync(self, target: SendTarget, question: SyncQuestion, *, reader: Principal, writer: Principal) -> Synced:
        """Write what a context lacks of a history, in the mapping's order, and retract what changed there.

        Nodes that the history has no longer keep their messages: not to see a node does not say that it is gone. A
        message that cannot be written is left out, and an older version of it stays; the next sync tries it again. If
        it fails half-way, what is written stays, and the next sync goes on.

        Args:
            target: The context; a new one is begun by the first message.
            question: Which history.
            reader: Who reads the graph.
            writer: Who writes the context; he may act for a user.

        Raises:
            ContextNotFound, ContextClosed: of the target, before anything is read.
            NodeNotFound, MappingNotFound, CostExceeded, Unavailable: see `ContextAssembly.page`.
            InvalidArgument, LimitExceeded: of a new context that cannot be made; see `Messaging.send`.
        """
        synced = Synced(context_id=await self._messaging.taking(target, principal=writer))
        mapping = _crc(f"{question.app_id}/{question.mapping_name or DEFAULT_NAME}")
        token = ""
        while True:
            page = await self._assembly.page(
                reader,
                copied(AssemblyQuestion, question, max_messages=0, data_paths=(), page_size=_NODES, page_token=token),
            )
            synced = await self._write(target, page.nodes, synced, mapping=mapping, writer=writer)
            token = page.next_page_token
            if not token:
                return synced

    async def _write(
        self, target: SendTarget, nodes: Sequence[AssembledNode], synced: Synced, *, mapping: str, writer: Principal
    ) -> Synced:
        failed = [one for one in nodes if any(skip.reason is SkipReason.FAILED for skip in one.outcome.skips)]
        read = [one for one in nodes if one not in failed]
        said = [message for one in read for message in await _messages(one, mapping)]
        there: dict[str, bool] = {}  # what the context has of these nodes, and whether it is retracted
        if synced.context_id:
            prefixes = [id_prefix(one.node.node_id) for one in read]
            there = await self._messaging.ids_beginning(synced.context_id, prefixes, principal=writer)
        new = [one for one in said if one.message_id not in there]
        left_out: list[LeftOut] = []
        for start in range(0, len(new), MESSAGES_MAX):
            if synced.context_id:  # begun by the batch before
                target = SendTarget(context_id=synced.context_id)
            written, without = await self._send(target, new[start : start + MESSAGES_MAX], writer=writer)
            left_out += without
            if written:
                synced = replace(synced, context_id=written.context_id, created=synced.created or written.created)
        current = {one.message_id for one in said}
        missing = {_origin(one.message_id) for one in left_out}
        old = [
            message_id
            for message_id, is_retracted in there.items()
            if message_id not in current
            and not is_retracted
            and _mapping(message_id) == mapping
            and _origin(message_id) not in missing
        ]
        retracted = 0
        for start in range(0, len(old), MESSAGES_MAX):
            assert synced.context_id, "what is there is in a context"
            ids = old[start : start + MESSAGES_MAX]
            retracted += await self._messaging.retract(synced.context_id, ids, principal=writer, request=None)
        skips = [skip for one in read for skip in one.outcome.skips if skip.reason is SkipReason.ROLE_UNKNOWN]
        return replace(
            synced,
            appended=synced.appended + len(new) - len(left_out),
            retracted=synced.retracted + retracted,
            unchanged=synced.unchanged + len(said) - len(new),
            nodes_failed=synced.nodes_failed + len(failed),
            roles_unknown=synced.roles_unknown + sum(skip.elements for skip in skips),
            left_out=synced.left_out + len(left_out),
            told=(*synced.told, *left_out)[:_TOLD_MAX],
        )

    async def _send(
        self, target: SendTarget, messages: Sequence[MessageInput], *, writer: Principal
    ) -> tuple[SentMessages | None, list[LeftOut]]:
        """Write those messages that can be written, and return the others; None: there was none to write."""
        left_out: list[LeftOut] = []
        while messages:
            try:
                paths = [f"messages[{one.message_id}]" for one in messages]
                return await self._messaging.send(
                    target, messages, paths=paths, principal=writer, request=None
                ), left_out
            except (InvalidArgument, LimitExceeded, RecordNotFound):
                errors = [await self._error_of(one, writer=writer) for one in messages]
                if not any(errors):
                    raise  # it was not for one of them
                left_out += [
                    LeftOut(message_id=one.message_id, error=error)
                    for one, error in zip(messages, errors, strict=True)
                    if error
                ]
                messages = [one for one, error in zip(messages, errors, strict=True) if not error]
        return None, left_out

    async def _error_of(self, message: MessageInput, *, writer: Principal) -> ContextKeepError | None:
        try:
            await self._messaging.check(message, path="message", principal=writer)
        except (InvalidArgument, LimitExceeded, RecordNotFound) as error:
            return error
        return None


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


def _origin(message_id: str) -> tuple[str, str]:
    """Return the node, and what of it a message of ours is, whichever version: the rule, and the place there."""
    return message_id.split(":")[1], message_id.rpartition("-")[2]


def _source(given: RuleMessage) -> str:
    """Return what tells what was said and by which rule: of a node's input and output its version does not tell."""
    message = given.message
    content = [message.role, message.content, to_json(message.parts), message.name, message.metadata_json]
    number = _NUMBER.search(given.rule)
    return f"{_crc(orjson.dumps(content).decode())}-{number[0] if number else 0}"


def _crc(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"
