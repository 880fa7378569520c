"""The audit log: changes and refused changes, with their callers.

One line for every call whose RPC needs more than the scope `read`, by the logger `audit`, whatever `LOG_LEVEL` says:
the principal, the caller's address, the outcome, and the ids of request and answer. No content, no key, no name that a
user gave; an id that a caller made up, such as one of a user or of another system, appears as its digest.
Those of administrators are kept as rows, too: see `audit_trail`.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterator
from functools import cache
from itertools import islice

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from contextkeep.errors import ContextKeepError
from service_runtime.rpc.calls import Call

IDS_MAX = 20  # ids of one request, and of one answer, in a line; a call may write thousands
_DEPTH_MAX = 3
_MESSAGES_MAX = 1000  # messages of one request that are searched for ids; a refused request may hold two million
_ID_CHARS_MAX = 200
_NAMES = frozenset({"id", "blob_key", "mapping_name"})
_ENDINGS = ("_id", "_ids")
# The arguments that hold names which applications and administrators give. Other ids may name a person, or be anything.
OF_TENANTS = frozenset(
    {
        *("app_id", "app_ids", "agent_id", "agent_ids", "agent_bundle_id", "agent_bundle_ids", "provider_id"),
        *("provider_ids", "template_id", "server_id", "specialist_id", "mapping_name", "blob_key"),
    }
)
_OURS = re.compile(r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")
_DIGEST_CHARS = 16

_log = logging.getLogger("audit")
_log.setLevel(logging.INFO)


def log(call: Call, scope: str, error: ContextKeepError | None, *, peer: str) -> None:
    """Write the audit line of a call that has ended."""
    if call.principal is None:
        return  # a call without a principal is counted as a failed authentication
    values: dict[str, object] = {
        "call_id": call.call_id,
        "method": call.method,
        "scope": scope,
        "status": error.code.name if error else "OK",
        "tenant_id": str(call.principal.tenant_id),
        "subject": call.principal.subject,
        "user_id": call.principal.user_id,
        "agent_id": call.principal.agent_id,
        "peer": peer,
        "ids": ids_of(call),
    }
    if error:
        values["reason"] = error.reason
    _log.info("write", extra=values)


def ids_of(call: Call) -> dict[str, list[str]]:
    """Return the ids in the request and the answer of a call, by the paths of their fields."""
    id_pairs = [
        *islice(_ids_of(call.request, "request"), IDS_MAX),
        *islice(_ids_of(call.response, "response"), IDS_MAX),
    ]
    ids: dict[str, list[str]] = {}
    for path, value in dict.fromkeys(id_pairs):
        ids.setdefault(path, []).append(value[:_ID_CHARS_MAX])
    return ids


def digest_of(text: str) -> str:
    """Return the digest of an id that a caller made up: only a reader who knows the id finds it."""
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:_DIGEST_CHARS]}"


def _ids_of(message: object, path: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the value of each id in a message, its own ones first."""
    for at, nested_message in islice(_messages_of(message, path), _MESSAGES_MAX):
        for field, value in nested_message.ListFields():
            if _is_id(field):
                for text in value if field.is_repeated else [value]:
                    is_said = field.name in OF_TENANTS or _OURS.fullmatch(text)
                    yield f"{at}.{field.name}", text if is_said else digest_of(text)


def _messages_of(message: object, path: str, depth: int = 0) -> Iterator[tuple[str, Message]]:
    """Yield the path of a message and it, then those in it that can have ids."""
    if not isinstance(message, Message):
        return
    yield path, message
    for field, value in message.ListFields():
        if _can_have_ids(field.message_type, depth + 1):
            for inner in value if field.is_repeated else [value]:
                yield from _messages_of(inner, f"{path}.{field.name}", depth + 1)


@cache
def _can_have_ids(descriptor: Descriptor | None, depth: int) -> bool:
    """Say whether messages of a type can have ids; a pack has hundreds of messages that cannot."""
    if descriptor is None or depth > _DEPTH_MAX or descriptor.GetOptions().map_entry:
        return False
    return any(_is_id(field) or _can_have_ids(field.message_type, depth + 1) for field in descriptor.fields)


def _is_id(field: FieldDescriptor) -> bool:
    """Say whether a field has an id, or several."""
    is_named = field.name in _NAMES or field.name.endswith(_ENDINGS)
    return is_named and field.type == FieldDescriptor.TYPE_STRING
