"""What callers say: whom a call is for, and messages, as they travel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from context_service.contexts.model import MessageInput
from context_service.contexts.pure.secrets import without_secret
from context_service.history.wire import messages as message_wire
from context_service.kernel.parts import Part
from context_service.kernel.wire import times
from contextkeep.context.v1 import message_pb2
from contextkeep.errors import InvalidArgument
from service_runtime import calls
from service_runtime.auth import Authenticator, Principal, refusal
from service_runtime.copying import copied
from service_runtime.documents import beside_the_loop
from service_runtime.ids import parse_id, parse_optional_id

_KEY_TTL_S = 3600  # of a key of a context, if the caller does not say


def principal_of(subject_user_id: str) -> Principal:
    """Return whom the call under way acts for, of which the request may name a user; see `Principal.acting_for`."""
    return calls.act_for(subject_user_id)


async def check_same_caller(callers: Authenticator) -> None:
    """Refuse to go on for who may not call any more: of a stream that lasts longer than a key may.

    Raises:
        Unauthenticated: the credential of the call under way is revoked, over, or somebody else's since.
    """
    was, credential = calls.principal(), calls.credential()
    now = await callers.authenticate([("authorization", f"Bearer {credential}")] if credential else [])
    if (now.tenant_id, now.subject, now.key_id) != (was.tenant_id, was.subject, was.key_id):
        raise refusal()


def lifetime_of(field: str, ttl_s: int) -> timedelta:
    """Return how long a key of a context shall live.

    Raises:
        InvalidArgument: it ends before it begins.
    """
    if ttl_s < 0:
        raise InvalidArgument(f"{field} is negative", field=field)
    return timedelta(seconds=ttl_s or _KEY_TTL_S)


def somebody_of(subject_user_id: str) -> Principal:
    """Return `principal_of`, of a call about what is always a user's; see `Principal.acting_for_somebody`."""
    return calls.act_for_somebody(subject_user_id)


async def messages_of(sent: Mapping[str, message_pb2.MessageInput]) -> list[MessageInput]:
    """Return messages, given by their paths. Documents are parsed to find secrets: large ones hold up nobody."""
    size_bytes = sum(one.ByteSize() for one in sent.values())
    return await beside_the_loop(size_bytes, lambda: [_message(path, one) for path, one in sent.items()])


def _message(path: str, message: message_pb2.MessageInput) -> MessageInput:
    """Return a message without its secrets, and take them out of the request, whose hash and ids are kept."""
    parts, redacted = _parts(message.parts)
    role = message_wire.role_of(f"{path}.role", message.role)
    return copied(
        MessageInput,
        message,
        role=role,
        parts=parts,
        agent_id=message.agent_id or calls.principal().agent_id if role == "assistant" else message.agent_id,
        said_at=times.time_of(f"{path}.said_at", message.said_at) if message.HasField("said_at") else None,
        task_id=parse_optional_id(f"{path}.task_id", message.task_id),
        reference_task_ids=ids_of(f"{path}.reference_task_ids", message.reference_task_ids),
        redacted=redacted,
    )


async def parts_of(sent: Sequence[message_pb2.Part]) -> tuple[tuple[Part, ...], tuple[int, ...]]:
    """Return parts without their secrets, which are taken out of the request, too, and where there were some."""
    return await beside_the_loop(sum(one.ByteSize() for one in sent), _parts, sent)


def _parts(sent: Sequence[message_pb2.Part]) -> tuple[tuple[Part, ...], tuple[int, ...]]:
    parts, redacted = [], []
    for place, one in enumerate(sent):
        part = message_wire.part_of(one)
        kept = without_secret(part)
        if kept:
            redacted.append(place)
            one.Clear()
            message_wire.fill_part(one, kept)
        parts.append(kept or part)
    return tuple(parts), tuple(redacted)


def ids_of(field: str, texts: Iterable[str]) -> tuple[UUID, ...]:
    """Return the ids of a list, each once.

    Raises:
        InvalidArgument: one is none; the violation names its place.
    """
    return tuple(dict.fromkeys(parse_id(f"{field}[{place}]", text) for place, text in enumerate(texts)))
