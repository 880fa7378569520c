"""SyncHistory: fills a context from a chat history of the graph, so that sessions in the graph can be recalled.

The history stays the source of truth: the messages of a node are written once for each version of the node, and the
messages of an older version are then retracted. A sync reads a page of nodes, compares it with the messages of these
nodes in the context, and writes the difference. So a sync of any length has one page in memory, and the next call
continues an interrupted sync.
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
from context_service.history.room import AssembledNode, AssemblyQuestion, ContextAssembly
from context_service.kernel.parts import to_json
from contextkeep.errors import ContextKeepError, InvalidArgument, LimitExceeded, RecordNotFound
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.rpc.principal import Principal
from service_runtime.values.copying import copied

_NODES = 100  # nodes of one page
_SHOWN_MAX = 20  # messages that are left out and reported with their error
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncQuestion:
    """The history to read, and its mapping."""

    node_id: str
    app_id: str
    mapping_name: str  # empty takes the default mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A message that could not be written to the context."""

    message_id: str
    error: ContextKeepError  # why

    @property
    def node_id(self) -> str:
        """The node that it was read from."""
        return self.message_id.split(":")[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """The results of a sync."""

    context_id: UUID | None = None  # None if there was no message to begin one with
    created: bool = False
    appended: int = 0
    retracted: int = 0
    unchanged: int = 0  # messages that the context had already
    nodes_failed: int = 0  # nodes whose mapping failed: their messages stay as they are
    roles_unknown: int = 0
    left_out: int = 0
    shown: tuple[LeftOut, ...] = ()  # the first messages that were left out


class Syncing:
    """Fills contexts from histories.

    Args:
        assembly: Reads histories, with the node of each message.
        messaging: Writes the messages to contexts.
    """

    def __init__(self, assembly: ContextAssembly, messaging: Messaging) -> None:
        self._assembly = assembly
        self._messaging = messaging

    async def sync(self, target: SendTarget, question: SyncQuestion, *, reader: Principal, writer: Principal) -> Synced:
        """Write the messages of a history that a context lacks, in the mapping's order, and retract outdated ones.

        Nodes that are no longer in the history keep their messages, because the reader may just not see them. A message
        that cannot be written is left out, and its older version stays; the next sync tries it again. If the sync
        fails, the written messages stay, and the next sync continues.

        Args:
            target: The context; the first message begins a new one.
            question: The chat history to read: its node and mapping.
            reader: The principal that reads the graph.
            writer: The principal that writes the context, which may act for a user.

        Raises:
            ContextNotFound: the target does not exist, or `writer` may not see it. Nothing was read.
            ContextClosed: the target is closed. Nothing was read.
            NodeNotFound: `reader` sees no such node.
            MappingNotFound: `reader` has no such mapping.
            CostExceeded: the expressions of the mapping cost more than a call may spend.
            Unavailable: the Entity Service does not answer.
            InvalidArgument: a field of the new context is malformed.
            LimitExceeded: a field of the new context is too large.
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
        """Write the new messages of a page of nodes, retract the outdated ones, and return the results so far.

        A message is outdated if its node has another version now. Its older version stays if the new one could not be
        written. Nodes whose mapping failed change nothing.

        Args:
            target: The context; the first batch may begin it.
            nodes: A page of nodes with the messages that the mapping made of them.
            synced: The results of the pages before.
            mapping: The hash of the mapping, which is part of the message ids.
            writer: The principal that writes the context.
        """
        failed = [entry for entry in nodes if any(skip.reason is SkipReason.FAILED for skip in entry.outcome.skips)]
        read = [entry for entry in nodes if entry not in failed]
        draft = [message for entry in read for message in await _messages(entry, mapping)]
        there: dict[str, bool] = {}  # ids of the context's messages of these nodes, and whether each is retracted
        if synced.context_id:
            prefixes = [id_prefix(entry.node.node_id) for entry in read]
            there = await self._messaging.ids_beginning(synced.context_id, prefixes, principal=writer)
        new = [entry for entry in draft if entry.message_id not in there]
        left_out: list[LeftOut] = []
        for start in range(0, len(new), MESSAGES_MAX):
            if synced.context_id:  # begun by the batch before
                target = SendTarget(context_id=synced.context_id)
            written, without = await self._send(target, new[start : start + MESSAGES_MAX], writer=writer)
            left_out += without
            if written:
                synced = replace(synced, context_id=written.context_id, created=synced.created or written.created)
        current = {entry.message_id for entry in draft}
        missing = {_origin(entry.message_id) for entry in left_out}
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
            assert synced.context_id, "existing messages are in a context"
            ids = old[start : start + MESSAGES_MAX]
            retracted += await self._messaging.retract(synced.context_id, ids, principal=writer, request=None)
        skips = [skip for entry in read for skip in entry.outcome.skips if skip.reason is SkipReason.ROLE_UNKNOWN]
        return replace(
            synced,
            appended=synced.appended + len(new) - len(left_out),
            retracted=synced.retracted + retracted,
            unchanged=synced.unchanged + len(draft) - len(new),
            nodes_failed=synced.nodes_failed + len(failed),
            roles_unknown=synced.roles_unknown + sum(skip.elements for skip in skips),
            left_out=synced.left_out + len(left_out),
            shown=(*synced.shown, *left_out)[:_SHOWN_MAX],
        )

    async def _send(
        self, target: SendTarget, messages: Sequence[MessageInput], *, writer: Principal
    ) -> tuple[SentMessages | None, list[LeftOut]]:
        """Write the messages that can be written.

        Returns:
            The written messages, or None if no message could be written; and the other messages with their errors.
        """
        left_out: list[LeftOut] = []
        while messages:
            try:
                paths = [f"messages[{entry.message_id}]" for entry in messages]
                return await self._messaging.send(
                    target, messages, paths=paths, principal=writer, request=None
                ), left_out
            except (InvalidArgument, LimitExceeded, RecordNotFound):
                errors = [await self._error_of(entry, writer=writer) for entry in messages]
                if not any(errors):
                    raise  # the error was not about one of the messages
                left_out += [
                    LeftOut(message_id=entry.message_id, error=error)
                    for entry, error in zip(messages, errors, strict=True)
                    if error
                ]
                messages = [entry for entry, error in zip(messages, errors, strict=True) if not error]
        return None, left_out

    async def _error_of(self, message: MessageInput, *, writer: Principal) -> ContextKeepError | None:
        """Return the error for which a message cannot be written, or None if it can."""
        try:
            await self._messaging.check(message, path="message", principal=writer)
        except (InvalidArgument, LimitExceeded, RecordNotFound) as error:
            return error
        return None


async def _messages(entry: AssembledNode, mapping: str) -> list[MessageInput]:
    """Return the messages of a node without their secrets, which are found by parsing the parts."""
    size = sum(size_bytes(rule_message.message) for rule_message in entry.outcome.given)
    return await beside_the_loop(size, _drafts_of, entry, mapping)


def _drafts_of(entry: AssembledNode, mapping: str) -> list[MessageInput]:
    """Return the messages of a node to write. Each id has the node, its version, the mapping and the rule."""
    assert entry.node.reached is not None, "the walk reports how it reached its nodes"
    version = entry.node.reached.modified_at_us
    draft, places = [], dict[str, int]()
    for rule_message in entry.outcome.given:
        place = places[rule_message.rule] = places.get(rule_message.rule, -1) + 1
        message_id = f"{id_prefix(entry.node.node_id)}{version}:{mapping}:{_source(rule_message)}.{place}"
        draft.append(_input(rule_message.message, message_id))
    return draft


def _input(message: ChatMessage, message_id: str) -> MessageInput:
    """Return the message to write for a message of the history, with its secrets replaced."""
    parts = [(part, without_secret(part)) for part in message.parts]
    return MessageInput(
        message_id=message_id,
        role=message.role,
        content=message.content,
        parts=tuple(without or part for part, without in parts),
        name=message.name,
        metadata_json=message.metadata_json,
        said_at=_EPOCH + timedelta(microseconds=message.created_at_us),
        redacted=tuple(place for place, (_, without) in enumerate(parts) if without),
    )


def _mapping(message_id: str) -> str:
    """Return the mapping's hash from a message id that `sync_history` made; empty for other ids."""
    pieces = message_id.split(":")
    return pieces[3] if len(pieces) == 5 else ""


def _origin(message_id: str) -> tuple[str, str]:
    """Return the node, and the rule and position in it, from a message id that `sync_history` made.

    The version of the node is left out, so that versions of the same message compare equal.
    """
    return message_id.split(":")[1], message_id.rpartition("-")[2]


def _source(rule_message: RuleMessage) -> str:
    """Return the hash of a message and of the rule that made it.

    It tells versions of a message apart: the version number of a node does not change with its input and output.
    """
    message = rule_message.message
    content = [message.role, message.content, to_json(message.parts), message.name, message.metadata_json]
    number = _NUMBER.search(rule_message.rule)
    return f"{_crc(orjson.dumps(content).decode())}-{number[0] if number else 0}"


def _crc(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"
