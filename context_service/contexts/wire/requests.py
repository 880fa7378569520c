"""Parses requests: the user that a call acts for, and messages without their secrets."""

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
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.rpc import calls
from service_runtime.rpc.principal import Authenticator, Principal, refusal
from service_runtime.values.copying import copied
from service_runtime.values.ids import parse_id, parse_optional_id

_KEY_TTL_S = 3600  # default for keys of a context


def principal_of(subject_user_id: str) -> Principal:
    """Return the principal of the current call, for the user that the request may name; see `Principal.acting_for`."""
    return calls.act_for(subject_user_id)


async def check_same_caller(callers: Authenticator) -> None:
    """Check the caller again, for a stream that may outlive its key.

    Raises:
        Unauthenticated: the credential of the current call was revoked, has expired, or now belongs to another caller.
    """
    was, credential = calls.principal(), calls.credential()
    now = await callers.authenticate([("authorization", f"Bearer {credential}")] if credential else [])
    if (now.tenant_id, now.subject, now.key_id) != (was.tenant_id, was.subject, was.key_id):
        raise refusal()


def lifetime_of(field: str, ttl_s: int) -> timedelta:
    """Return the lifetime of a key of a context.

    Raises:
        InvalidArgument: the number is negative.
    """
    if ttl_s < 0:
        raise InvalidArgument(f"{field} must be 0 or more (got {ttl_s})", field=field)
    return timedelta(seconds=ttl_s or _KEY_TTL_S)


def somebody_of(subject_user_id: str) -> Principal:
    """Return the principal of the call for data that must have an owner; see `Principal.acting_for_somebody`."""
    return calls.act_for_somebody(subject_user_id)


async def messages_of(inputs: Mapping[str, message_pb2.MessageInput]) -> list[MessageInput]:
    """Return messages, by their paths in the request; large ones are parsed off the event loop to find secrets."""
    size_bytes = sum(sent_part.ByteSize() for sent_part in inputs.values())
    return await beside_the_loop(size_bytes, lambda: [_message(path, sent_part) for path, sent_part in inputs.items()])


def _message(path: str, message: message_pb2.MessageInput) -> MessageInput:
    """Return a message without its secrets, and remove them from the request, whose hash and ids are stored."""
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


async def parts_of(parts: Sequence[message_pb2.Part]) -> tuple[tuple[Part, ...], tuple[int, ...]]:
    """Return parts without their secrets, and the indexes of parts that had some; remove them from the request, too."""
    return await beside_the_loop(sum(sent_part.ByteSize() for sent_part in parts), _parts, parts)


def _parts(sent: Sequence[message_pb2.Part]) -> tuple[tuple[Part, ...], tuple[int, ...]]:
    """Parse the parts of a message, and remove secrets from them.

    Secrets are removed from the request itself, too, so that no log of requests shows them.

    Returns:
        The parts, and the positions of those that had a secret.
    """
    parts, redacted = [], []
    for place, sent_part in enumerate(sent):
        part = message_wire.part_of(sent_part)
        redacted_part = without_secret(part)
        if redacted_part:
            redacted.append(place)
            sent_part.Clear()
            message_wire.fill_part(sent_part, redacted_part)
        parts.append(redacted_part or part)
    return tuple(parts), tuple(redacted)


def ids_of(field: str, texts: Iterable[str]) -> tuple[UUID, ...]:
    """Return the ids of a list, without duplicates.

    Raises:
        InvalidArgument: an id is malformed; the violation names its place.
    """
    return tuple(dict.fromkeys(parse_id(f"{field}[{place}]", text) for place, text in enumerate(texts)))
