"""Calls of any RPC with any message, and what they came to: messages as they are, or bytes that are none."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import grpc
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from contextkeep.errors import Unauthenticated, error_classes
from contextkeep.status import DETAILS_KEY, DOMAIN
from service_runtime.rpc.principal import OPERATOR, SCOPES, Metadata, Principal, credential
from tests.conftest import Addresses
from tests.rpcs import Rpc, all_stubs

TIMEOUT_S = 20.0
WHOLE_SHARES = {"calls_share_of_tenant": 1.0, "calls_share_of_key": 1.0}  # one key may have all places

# What one call sends: a message, or bytes in the place of one; of a client stream, several.
Case = Message | bytes | Sequence[Message | bytes]

CODE_OF_REASON = {error_class.reason: error_class.code for error_class in error_classes()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key of a tenant for less than all of it."""

    tenant_id: uuid.UUID
    scopes: tuple[str, ...] = (*SCOPES, OPERATOR)
    user_id: str = ""
    app_ids: tuple[str, ...] = ()
    agent_bundle_id: str = ""
    graph_names: tuple[str, ...] = ()
    context_id: uuid.UUID | None = None

    def __str__(self) -> str:
        return json.dumps(asdict(self), default=str)

    @property
    def principal(self) -> Principal:
        return Principal(
            tenant_id=self.tenant_id,
            subject="somebody",
            scopes=frozenset(self.scopes),
            user_id=self.user_id,
            app_ids=frozenset(self.app_ids),
            agent_bundle_id=self.agent_bundle_id,
            graph_names=frozenset(self.graph_names),
            context_id=self.context_id,
        )


class AnyTenant:
    """Takes the id of a tenant, or a `Key`, for what it says: a tenant of one's own is one `uuid4` away."""

    async def authenticate(self, metadata: Metadata) -> Principal:
        shown = credential(metadata)
        try:
            said = json.loads(shown) if shown.startswith("{") else {"tenant_id": shown}
            ids = {
                name: uuid.UUID(said[name])
                for name in ("tenant_id", "context_id")
                if name == "tenant_id" or said.get(name)
            }
            return Key(**{**said, **ids}).principal
        except ValueError:
            raise Unauthenticated("no valid key") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The answers of a call, and the error that it ended with."""

    answers: Sequence[Any]
    error: Any = None  # grpc.RpcError

    @property
    def ok(self) -> bool:
        return self.error is None

    @property
    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.OK if self.error is None else self.error.code()

    @property
    def status(self) -> Status:
        """The details of the error; empty if there are none."""
        values = [value for key, value in self.error.trailing_metadata() or () if key == DETAILS_KEY]
        return Status.FromString(values[0]) if values else Status()

    @property
    def reason(self) -> str:
        return "" if self.error is None else _infos(self.status)[0].reason if _infos(self.status) else "?"

    @property
    def metadata(self) -> dict[str, str]:
        """Of the ErrorInfo."""
        return dict(_infos(self.status)[0].metadata)

    @property
    def fields(self) -> list[str]:
        """Those that the error names."""
        return [one.field for bad in _of_type(self.status, BadRequest) for one in bad.field_violations]

    @property
    def texts(self) -> list[str]:
        """Everything that an error says."""
        status = self.status
        texts = [self.error.details() or "", status.message]
        for info in _infos(status):
            texts += [info.reason, *(text for item in sorted(info.metadata.items()) for text in item)]
        for bad_request in _of_type(status, BadRequest):
            for violation in bad_request.field_violations:
                texts += [violation.field, violation.description]
        return texts

    def __str__(self) -> str:
        if self.error is None:
            return f"OK with {len(self.answers)} messages"
        return f"{self.code.name} {self.reason}: {self.error.details()}"


class Client:
    """Calls both services on plain channels."""

    def __init__(self, channels: dict[str, grpc.Channel]) -> None:
        self._channels = channels
        self._stubs = {service: stub(channels[service.split(".")[1]]) for service, stub in all_stubs().items()}

    @classmethod
    @contextmanager
    def open(cls, addresses: Addresses) -> Iterator[Client]:
        # What a client may not send is refused by the server, so the client must not refuse it first.
        options = [("grpc.max_send_message_length", -1)]
        with (
            grpc.insecure_channel(addresses.entity, options=options) as entity,
            grpc.insecure_channel(addresses.context, options=options) as context,
        ):
            yield cls({"entity": entity, "context": context})

    def method(self, rpc: Rpc) -> Any:
        """Return what calls an RPC, as a generated stub has it."""
        return self._method(
            rpc.path, rpc.process, (rpc.client_streaming, rpc.server_streaming), rpc.response.FromString
        )

    def call(
        self, rpc: Rpc, case: Case, *, key: object, metadata: Sequence[tuple[str, Any]] = (), **options: Any
    ) -> Outcome:
        """Make the call and read it to its end; messages go through the generated stub, as a bundle sends them."""
        of_messages = all(isinstance(message, Message) for message in _several(case))
        return self._send(
            getattr(self._stubs[rpc.service], rpc.name) if of_messages else self.method(rpc),
            case,
            kind=(rpc.client_streaming, rpc.server_streaming),
            metadata=(("authorization", f"Bearer {key}"), *metadata),
            **options,
        )

    def send(
        self,
        path: str,
        case: Case,
        *,
        process: str,
        kind: tuple[bool, bool] = (False, False),
        decode: Any = bytes,
        metadata: Sequence[tuple[str, Any]] = (),
        timeout_s: float = TIMEOUT_S,
    ) -> Outcome:
        """Call a path, whoever may serve it, as an RPC of a kind: client stream, server stream."""
        method = self._method(path, process, kind, decode)
        return self._send(method, case, kind=kind, metadata=metadata, timeout_s=timeout_s)

    def _send(
        self,
        method: Any,
        case: Case,
        *,
        kind: tuple[bool, bool],
        metadata: Sequence[tuple[str, Any]],
        timeout_s: float = TIMEOUT_S,
    ) -> Outcome:
        sent = iter(_several(case)) if kind[0] else _several(case)[0]
        answers: list[Any] = []
        try:
            answer = method(sent, metadata=list(metadata), timeout=timeout_s)
            if kind[1]:
                answers.extend(answer)
            else:
                answers.append(answer)
        except grpc.RpcError as error:
            return Outcome(answers=answers, error=error)
        return Outcome(answers=answers)

    def _method(self, path: str, process: str, kind: tuple[bool, bool], decode: Any) -> Any:
        channel = self._channels[process]
        make = {
            (False, False): channel.unary_unary,
            (False, True): channel.unary_stream,
            (True, False): channel.stream_unary,
            (True, True): channel.stream_stream,
        }[kind]
        return make(path, request_serializer=_encoded, response_deserializer=decode)


def faults(outcome: Outcome, *, private: Sequence[str] = ()) -> list[str]:
    """Return what is wrong with the way in which a call failed; nothing is wrong with success.

    Args:
        outcome: Of the call.
        private: What no error may say, such as the folder of the blobs.
    """
    if outcome.ok:
        return []
    found = []
    details = [value for key, value in outcome.error.trailing_metadata() or () if key == DETAILS_KEY]
    infos = _infos(outcome.status)
    if outcome.code in (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.UNIMPLEMENTED):
        found.append(f"the status is {outcome.code.name}")
    if len(details) != 1:
        found.append(f"{len(details)} entries of {DETAILS_KEY}")
    if len(infos) != 1:
        found.append(f"{len(infos)} ErrorInfo")
    others = [detail.type_url for detail in outcome.status.details if not _known(detail)]
    if others:
        found.append(f"details of other types: {others}")
    for info in infos:
        if info.domain != DOMAIN:
            found.append(f"the domain is {info.domain!r}")
        if CODE_OF_REASON.get(info.reason) is not outcome.code:
            found.append(f"{info.reason!r} with {outcome.code.name} is not in the error table")
    if details and outcome.status.code != outcome.code.value[0]:
        found.append("the details have another status")
    for text in outcome.texts:
        found += [f"says {secret!r}" for secret in (*_INSIDE, *private) if secret in text]
    return found


# What only the inside of a server knows: its language, its libraries, its SQL, its files.
_INSIDE = (
    "Traceback",
    'File "',
    ".py",
    "site-packages",
    "/usr/",
    " object at 0x",
    "<class ",
    "UUID(",
    "datetime.",
    "psycopg",
    "orjson",
    "google.protobuf",
    "celpy",
    "Error(",
    "Exception",
    "INSERT INTO",
    "SELECT ",
    "UPDATE ",
    "DELETE FROM",
    "relation ",
    "violates",
    'constraint "',  # as Postgres names one; a section of a window's state is called so, too
    "exclusion constraint",
    "context.wm_record",
    "context.mapping",
    "context.blob",
    "entity.node",
    "entity.edge",
    "tenant_id",
    "postgresql://",
)


def _infos(status: Status) -> list[ErrorInfo]:
    return _of_type(status, ErrorInfo)


def _of_type(status: Status, message_class: Any) -> list[Any]:
    found = []
    for detail in status.details:
        if detail.Is(message_class.DESCRIPTOR):
            message = message_class()
            detail.Unpack(message)
            found.append(message)
    return found


def _known(detail: Any) -> bool:
    return any(detail.Is(known.DESCRIPTOR) for known in (ErrorInfo, BadRequest, RetryInfo))


def _several(case: Case) -> Sequence[Message | bytes]:
    return [case] if isinstance(case, Message | bytes) else case


def _encoded(message: Message | bytes) -> bytes:
    return message if isinstance(message, bytes) else message.SerializeToString()
