"""Every error of the services: one class per reason, under one class per gRPC status.

    ContextKeepError
    ├── InvalidArgument      INVALID_ARGUMENT     InvalidPageToken, SizeMismatch, SubjectRequired, ...
    ├── NotFound             NOT_FOUND            NodeNotFound, EdgeNotFound, RecordNotFound, BlobNotFound, ...
    ├── AlreadyExists        ALREADY_EXISTS       NodeExists, EdgeExists, ExternalIdTaken, RequestIdReused, ...
    ├── Aborted              ABORTED              VersionConflict, StatusConflict, UploadExpired, WindowBehind
    ├── FailedPrecondition   FAILED_PRECONDITION  RecordArchived, ProviderNotConfigured, ...
    ├── OutOfRange           OUT_OF_RANGE         RangePastEnd, UploadGap
    ├── ResourceExhausted    RESOURCE_EXHAUSTED   LimitExceeded, AnswerTooLarge, NodeBudgetExceeded, ...
    ├── Unauthenticated      UNAUTHENTICATED
    ├── PermissionDenied     PERMISSION_DENIED
    ├── Unavailable          UNAVAILABLE          Overloaded
    ├── DeadlineExceeded     DEADLINE_EXCEEDED
    ├── Cancelled            CANCELLED
    ├── DataLoss             DATA_LOSS            BlobCorrupted
    ├── Unimplemented        UNIMPLEMENTED
    └── Internal             INTERNAL

The servers raise these classes and the clients raise the same ones again: `contextkeep.status` is the table between
them, read in both directions. A reason that this version does not know arrives as the class of its status.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import grpc


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """What is wrong with one field of a request."""

    field: str  # path in the request message, e.g. "node.data_json"
    description: str


class ContextKeepError(Exception):
    """Base of all errors of the services.

    Args:
        message: For people; says what is wrong and what to do. Programs read `reason` and `metadata`.
        field: Path of the request field that is at fault, if one is.
        violations: Several of them.
        retry_after_s: When to try again, where the server knows.
        metadata: The variables of the message.
    """

    code: ClassVar[grpc.StatusCode] = grpc.StatusCode.UNKNOWN
    reason: str = "UNKNOWN"
    # Set by the clients: no service has worked on the call, so making it again adds nothing to any load.
    spares_budget: bool = False

    def __init__(
        self,
        message: str = "",
        *,
        field: str = "",
        violations: Sequence[FieldViolation] = (),
        retry_after_s: float | None = None,
        **metadata: object,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.violations = tuple(violations) or ((FieldViolation(field, message),) if field else ())
        self.retry_after_s = retry_after_s
        self.metadata = {key: str(value) for key, value in metadata.items()}

    def __str__(self) -> str:
        """Return the message, then the reason and its metadata: what a log line or a traceback needs."""
        values = "".join(f", {key}={value}" for key, value in self.metadata.items())
        return f"{self.message} ({self.reason}{values})"


class InvalidArgument(ContextKeepError):
    """A field is malformed; `violations` name it."""

    code = grpc.StatusCode.INVALID_ARGUMENT
    reason = "INVALID_ARGUMENT"


class InvalidPageToken(InvalidArgument):
    """The page token is malformed, or belongs to another query."""

    reason = "INVALID_PAGE_TOKEN"


class SizeMismatch(InvalidArgument):
    """The bytes of an upload are not as many as its header declared. Nothing was stored."""

    reason = "SIZE_MISMATCH"


class ChecksumMismatch(InvalidArgument):
    """The bytes of an upload do not have the sha256 that its header declared. Nothing was stored."""

    reason = "CHECKSUM_MISMATCH"


class ArchiveRefused(InvalidArgument):
    """An archive is malformed or damaged, or has what cannot be stored: `piece` in the metadata. Those before are."""

    reason = "ARCHIVE_REFUSED"


class SubjectRequired(InvalidArgument):
    """What the call is about belongs to users: `subject_user_id` must name one, unless the key has a user."""

    reason = "SUBJECT_REQUIRED"


class NotFound(ContextKeepError):
    """There is no such thing, or it is not the caller's: the two are not told apart."""

    code = grpc.StatusCode.NOT_FOUND
    reason = "NOT_FOUND"


class NodeNotFound(NotFound):
    """No node has this id, external id or name."""

    reason = "NODE_NOT_FOUND"


class EdgeNotFound(NotFound):
    """No edge has this id."""

    reason = "EDGE_NOT_FOUND"


class EmbeddingNotFound(NotFound):
    """The node has no embedding of this name."""

    reason = "EMBEDDING_NOT_FOUND"


class RecordNotFound(NotFound):
    """No working memory record has this id."""

    reason = "RECORD_NOT_FOUND"


class BlobNotFound(NotFound):
    """No blob has this key."""

    reason = "BLOB_NOT_FOUND"


class UploadNotFound(NotFound):
    """No resumable upload has this id: it never was, was given up, or was finished more than a day ago."""

    reason = "UPLOAD_NOT_FOUND"


class MappingNotFound(NotFound):
    """No mapping has this name where it was looked up; `apps` in the metadata names where it is."""

    reason = "MAPPING_NOT_FOUND"


class ToolNotFound(NotFound):
    """No tool has this name."""

    reason = "TOOL_NOT_FOUND"


class ContextNotFound(NotFound):
    """There is no context with this id that the caller may see."""

    reason = "CONTEXT_NOT_FOUND"


class ErasureNotFound(NotFound):
    """There is no erasure with this id that the caller may see; a receipt of a context is kept for a year."""

    reason = "ERASURE_NOT_FOUND"


class HoldNotFound(NotFound):
    """There is no hold with this id: it never was, or was released."""

    reason = "HOLD_NOT_FOUND"


class SourceTestNotFound(NotFound):
    """There is no test of sources with this id, or not any more."""

    reason = "SOURCE_TEST_NOT_FOUND"


class MemoryNotFound(NotFound):
    """There is no memory with this id that the caller may see, or it was forgotten."""

    reason = "MEMORY_NOT_FOUND"


class PageNotFound(NotFound):
    """There is no page of this id or name that the caller may see, or it has not this version, or not any more."""

    reason = "PAGE_NOT_FOUND"


class MessageNotFound(NotFound):
    """The context has no message with this id, or it is retracted."""

    reason = "MESSAGE_NOT_FOUND"


class TaskNotFound(NotFound):
    """The context has no task with this id."""

    reason = "TASK_NOT_FOUND"


class ArtifactNotFound(NotFound):
    """The task has no artifact with this id, or not this version of it."""

    reason = "ARTIFACT_NOT_FOUND"


class WindowNotFound(NotFound):
    """There is no window with this id that the caller may see, or its context is gone."""

    reason = "WINDOW_NOT_FOUND"


class PinNotFound(NotFound):
    """The window has no such pin: it was removed, or what it was of was retracted."""

    reason = "PIN_NOT_FOUND"


class CheckpointNotFound(NotFound):
    """The window has no such checkpoint, or no longer.

    Newer ones took its place, the window was rolled back to one before it, or a message was retracted.
    """

    reason = "CHECKPOINT_NOT_FOUND"


class RefNotFound(NotFound):
    """The context has nothing that this ref names: see ExpandRequest for their forms."""

    reason = "REF_NOT_FOUND"


class AgentNotFound(NotFound):
    """There is no agent with this id that the caller may ask for."""

    reason = "AGENT_NOT_FOUND"


class AgentTemplateNotFound(NotFound):
    """There is no template of agents with this id."""

    reason = "AGENT_TEMPLATE_NOT_FOUND"


class KnowledgeBaseNotFound(NotFound):
    """There is no knowledge base with this name that the caller may see."""

    reason = "KNOWLEDGE_BASE_NOT_FOUND"


class DocumentNotFound(NotFound):
    """There is no document with this id in the knowledge base."""

    reason = "DOCUMENT_NOT_FOUND"


class DefinitionNotFound(NotFound):
    """There is no such definition that the caller may see, or not this version of it, or none is approved."""

    reason = "DEFINITION_NOT_FOUND"


class CompiledPageNotFound(NotFound):
    """There is no such page that the caller may see, or its definition is not approved any more."""

    reason = "COMPILED_PAGE_NOT_FOUND"


class KeyNotFound(NotFound):
    """No key that is a part of the caller's begins like this."""

    reason = "KEY_NOT_FOUND"


class TenantNotFound(NotFound):
    """There is no tenant of this name."""

    reason = "TENANT_NOT_FOUND"


class JobNotFound(NotFound):
    """No operator of the tenant started a job with this id."""

    reason = "JOB_NOT_FOUND"


class ImportNotFound(NotFound):
    """No import of your tenant has the id, or it was too long ago."""

    reason = "IMPORT_NOT_FOUND"


class McpServerNotFound(NotFound):
    """There is no MCP server with this id."""

    reason = "MCP_SERVER_NOT_FOUND"


class McpToolNotFound(NotFound):
    """The MCP server has no tool of this name, or has it no more."""

    reason = "MCP_TOOL_NOT_FOUND"


class SpecialistNotFound(NotFound):
    """There is no specialist with this id."""

    reason = "SPECIALIST_NOT_FOUND"


class Erased(NotFound):
    """What a ref names was retracted, or what a repeated write was about is erased: nobody can read it any more."""

    reason = "ERASED"


class AlreadyExists(ContextKeepError):
    """Something has this name or id already."""

    code = grpc.StatusCode.ALREADY_EXISTS
    reason = "ALREADY_EXISTS"


class NodeExists(AlreadyExists):
    """The id of a new node is taken."""

    reason = "NODE_EXISTS"


class ExternalIdTaken(AlreadyExists):
    """The external id belongs to a node already: `node_id` in the metadata."""

    reason = "EXTERNAL_ID_TAKEN"


class EdgeExists(AlreadyExists):
    """There is an edge of that type between the two nodes, or of that id: `edge_id` in the metadata."""

    reason = "EDGE_EXISTS"


class RecordExists(AlreadyExists):
    """The id of a new working memory record is taken."""

    reason = "RECORD_EXISTS"


class RequestIdReused(AlreadyExists):
    """The request id was used before, with other content or for another RPC."""

    reason = "REQUEST_ID_REUSED"


class UploadPartExists(AlreadyExists):
    """The upload is past the offset of this part: `offset_bytes` in the metadata is where the next one begins."""

    reason = "UPLOAD_PART_EXISTS"


class MappingExists(AlreadyExists):
    """The mapping name has other rules; `replace` or a higher `rules_version` changes them."""

    reason = "MAPPING_EXISTS"


class PageNameTaken(AlreadyExists):
    """A slug or an alias leads to another page: its `slug` in the metadata."""

    reason = "PAGE_NAME_TAKEN"


class MessageExists(AlreadyExists):
    """The id is that of another message of the context."""

    reason = "MESSAGE_EXISTS"


class Aborted(ContextKeepError):
    """Somebody else was faster; read again and decide anew."""

    code = grpc.StatusCode.ABORTED
    reason = "ABORTED"


class VersionConflict(Aborted):
    """`expected_version` is not the current version: `version` in the metadata."""

    reason = "VERSION_CONFLICT"


class StatusConflict(Aborted):
    """`expected_status` is not the current status: `status` in the metadata."""

    reason = "STATUS_CONFLICT"


class UploadExpired(Aborted):
    """The upload was silent for so long that it was given up. Nothing was stored."""

    reason = "UPLOAD_EXPIRED"


class WindowBehind(Aborted):
    """A window has more of its log to read than the call had time for. What it read stays: call again.

    `reached_seq` and `last_seq` in the metadata say how far it is.
    """

    reason = "WINDOW_BEHIND"


class FoldStale(Aborted):
    """The window has another epoch than was expected, or than its fold was prepared for: `epoch` in the metadata.

    Prepare another fold.
    """

    reason = "FOLD_STALE"


class CompileUnderWay(Aborted):
    """Another compile of keys with the same bounds is under way. What this one has stored stays."""

    reason = "COMPILE_UNDER_WAY"


class LogMoved(Aborted):
    """The log has messages behind the one that the caller knows as its last. Nothing was done.

    `last_seq` in the metadata is the newest. Read them first, so that none disappears unseen.
    """

    reason = "LOG_MOVED"


class ImportMoved(Aborted):
    """The import is at another byte of the archive than the call begins with: `offset_bytes` in the metadata."""

    reason = "IMPORT_MOVED"


class FailedPrecondition(ContextKeepError):
    """The state forbids it, and trying again does not help."""

    code = grpc.StatusCode.FAILED_PRECONDITION
    reason = "FAILED_PRECONDITION"


class LegalHold(FailedPrecondition):
    """A hold forbids to erase this; `hold_ids` names it."""

    reason = "LEGAL_HOLD"


class JobRunning(FailedPrecondition):
    """A job of this kind runs: it is named."""

    reason = "JOB_RUNNING"


class SecretsKeyMissing(FailedPrecondition):
    """The service has no key to store secrets by: its operator sets SECRETS_KEY."""

    reason = "SECRETS_KEY_MISSING"


class SecretUnreadable(FailedPrecondition):
    """The key that a secret was stored by is none of the service's any more: say the secret again."""

    reason = "SECRET_UNREADABLE"


class AddressRefused(FailedPrecondition):
    """Nothing is sent to this address: it is no public one, and the operator does not list it."""

    reason = "ADDRESS_REFUSED"


class KnowledgeBaseFailed(FailedPrecondition):
    """The knowledge base of another service cannot be asked, as that answers now; the message says what is wrong."""

    reason = "KNOWLEDGE_BASE_FAILED"


class McpServerFailed(FailedPrecondition):
    """The MCP server cannot be asked, as it answers now; the message says what is wrong with it."""

    reason = "MCP_SERVER_FAILED"


class McpToolNotDeclared(FailedPrecondition):
    """The MCP tool does not declare that it is read-only, or nobody that searching with it does no harm."""

    reason = "MCP_TOOL_NOT_DECLARED"


class McpToolChanged(FailedPrecondition):
    """The definition of the MCP tool is another one than the one that was read."""

    reason = "MCP_TOOL_CHANGED"


class AgentTemplateInUse(FailedPrecondition):
    """Agents have the template: put them without it first."""

    reason = "AGENT_TEMPLATE_IN_USE"


class RecordArchived(FailedPrecondition):
    """The record is archived; read it with `include_archived`."""

    reason = "RECORD_ARCHIVED"


class RecordHasBlob(FailedPrecondition):
    """The record's content is a blob; it has no inline content."""

    reason = "RECORD_HAS_BLOB"


class RecordHasNoBlob(FailedPrecondition):
    """The record has no blob; its content, if any, is inline JSON."""

    reason = "RECORD_HAS_NO_BLOB"


class ProviderNotConfigured(FailedPrecondition):
    """The blob lives with a provider that this deployment is not configured for: `provider` in the metadata."""

    reason = "PROVIDER_NOT_CONFIGURED"


class NoDownloadUrl(FailedPrecondition):
    """The provider of the blob, or its credentials, can sign no URL; use GetBlob."""

    reason = "NO_DOWNLOAD_URL"


class MappingFailed(FailedPrecondition):
    """A rule failed on a node of a strict call: `node_id` and `rule` in the metadata."""

    reason = "MAPPING_FAILED"


class MappingBroken(FailedPrecondition):
    """A registered mapping no longer compiles; register it again."""

    reason = "MAPPING_BROKEN"


class MappingBuiltIn(FailedPrecondition):
    """The mapping is built in: it cannot be removed."""

    reason = "MAPPING_BUILT_IN"


class PlanOutdated(FailedPrecondition):
    """Memories changed since the dry run: another one says what would be done now."""

    reason = "PLAN_OUTDATED"


class ContextClosed(FailedPrecondition):
    """The context takes no more messages."""

    reason = "CONTEXT_CLOSED"


class WindowClosed(FailedPrecondition):
    """The window packs no more: open another one on its context."""

    reason = "WINDOW_CLOSED"


class TaskEnded(FailedPrecondition):
    """The task has ended: `state` in the metadata. What goes on with it is a new task of the same context."""

    reason = "TASK_ENDED"


class ArtifactComplete(FailedPrecondition):
    """The last chunk of this version came: what is put without `append` is the next one."""

    reason = "ARTIFACT_COMPLETE"


class ChangesNotStarted(FailedPrecondition):
    """The tenant's changes are not kept: `StartChanges` was not called, or has not answered yet."""

    reason = "CHANGES_NOT_STARTED"


class OutOfRange(ContextKeepError):
    """A position lies past the end."""

    code = grpc.StatusCode.OUT_OF_RANGE
    reason = "OUT_OF_RANGE"


class RangePastEnd(OutOfRange):
    """The byte range starts past the end of the blob: `size_bytes` in the metadata."""

    reason = "RANGE_PAST_END"


class ChangesExpired(OutOfRange):
    """Changes after the place are forgotten, or the database was restored. Take a new place, then read everything."""

    reason = "CHANGES_EXPIRED"


class UploadGap(OutOfRange):
    """The upload is not at the offset of this part yet: `offset_bytes` in the metadata is where the next one begins."""

    reason = "UPLOAD_GAP"


class ResourceExhausted(ContextKeepError):
    """A limit of size, count, depth, cost or rate was passed: `limit`, `limit_max` and `value` in the metadata.

    What grpc itself refuses, a message over 4 MiB or metadata over 8 KiB, has its text alone.
    """

    code = grpc.StatusCode.RESOURCE_EXHAUSTED
    reason = "RESOURCE_EXHAUSTED"


class LimitExceeded(ResourceExhausted):
    """A value is over a limit: `limit` (its name), `limit_max` and `value` in the metadata."""

    reason = "LIMIT_EXCEEDED"


class BlobTooLarge(ResourceExhausted):
    """The upload passed the size limit. Nothing was stored."""

    reason = "BLOB_TOO_LARGE"


class AnswerTooLarge(ResourceExhausted):
    """The answer does not fit one message: `use` in the metadata names the RPC that streams it."""

    reason = "ANSWER_TOO_LARGE"


class SliceTooLarge(ResourceExhausted):
    """There are too many vectors to compare with: `filters` in the metadata names what to add."""

    reason = "SLICE_TOO_LARGE"


class NodeBudgetExceeded(ResourceExhausted):
    """The walk would visit more nodes than `node_budget`."""

    reason = "NODE_BUDGET_EXCEEDED"


class CostExceeded(ResourceExhausted):
    """The expressions of a mapping cost more than a call may spend."""

    reason = "COST_EXCEEDED"


class BudgetTooSmall(ResourceExhausted):
    """A window's limit has no room for what a pack must have: `least` and `token_limit` in the metadata.

    `least` is the limit with which it would fit.
    """

    reason = "BUDGET_TOO_SMALL"


class TokensSpent(ResourceExhausted):
    """The packs of a window would have more tokens together than they may.

    `max_total_tokens` and `spent_tokens` are in the metadata. The packs before said `wrap_up`. A window that may spend
    more can be opened on the same context.
    """

    reason = "TOKENS_SPENT"


class FoldNoProgress(FailedPrecondition):
    """There is nothing to fold: what a window shows is folded as far as it can be."""

    reason = "FOLD_NO_PROGRESS"


class FoldNotPrepared(FailedPrecondition):
    """No fold of the window was prepared since it has its config."""

    reason = "FOLD_NOT_PREPARED"


class StorageFull(ResourceExhausted):
    """The disk, the bucket or the database has no room left."""

    reason = "STORAGE_FULL"


class TooManyCalls(ResourceExhausted):
    """The process answers as many calls as it may, or of the tenant or the key: `limit` in the metadata says of whom.

    Another replica, or a moment later, may take it.
    """

    reason = "TOO_MANY_CALLS"


class HeldBytesExceeded(ResourceExhausted):
    """The process would hold more bytes for its callers than it may: `limit` in the metadata says for whom.

    It holds requests, answers that are not read yet, and what an import has sent so far. `limit` is
    `held_bytes_of_key`, `held_bytes_of_tenant`, `held_bytes` (all callers) or `memory_bytes` (the whole process). A
    retry after `retry_after_s` may succeed, or another replica.
    """

    reason = "HELD_BYTES_EXCEEDED"


class RateLimited(ResourceExhausted):
    """The key, or the whole tenant, calls more often than it may; `retry_after_s` says when it may again."""

    reason = "RATE_LIMITED"


class Unauthenticated(ContextKeepError):
    """No valid key or token came with the call."""

    code = grpc.StatusCode.UNAUTHENTICATED
    reason = "UNAUTHENTICATED"


class PermissionDenied(ContextKeepError):
    """The key lacks the scope (`scope` in the metadata), is bound to something else, or is another user's."""

    code = grpc.StatusCode.PERMISSION_DENIED
    reason = "PERMISSION_DENIED"


class PackVetoed(PermissionDenied):
    """What the operator of the service installed to decide on packs refuses this one. Its message says why."""

    reason = "PACK_VETOED"


class ProviderNotAllowed(PermissionDenied):
    """The policy of the agent, or of its template, has not the provider or family that is named: `provider`."""

    reason = "PROVIDER_NOT_ALLOWED"


class Unavailable(ContextKeepError):
    """A dependency, or the service itself, does not answer: `dependency` in the metadata. Try again."""

    code = grpc.StatusCode.UNAVAILABLE
    reason = "UNAVAILABLE"


class Overloaded(Unavailable):
    """All database connections are busy; `retry_after_s` says when to try again."""

    reason = "OVERLOADED"


class ChangesHeldUp(Unavailable):
    """The list of changes waits for a transaction that began before it; `oldest_transaction_s` says how old it is."""

    reason = "CHANGES_HELD_UP"


class DeadlineExceeded(ContextKeepError):
    """The call's time was up."""

    code = grpc.StatusCode.DEADLINE_EXCEEDED
    reason = "DEADLINE_EXCEEDED"


class StreamIdle(DeadlineExceeded):
    """The caller of a stream neither sent nor read for `stream_idle_s`, and the server ended it."""

    reason = "STREAM_IDLE"


class Cancelled(ContextKeepError):
    """The call was cancelled."""

    code = grpc.StatusCode.CANCELLED
    reason = "CANCELLED"


class DataLoss(ContextKeepError):
    """Stored data is not what was written."""

    code = grpc.StatusCode.DATA_LOSS
    reason = "DATA_LOSS"


class BlobCorrupted(DataLoss):
    """Stored bytes do not match their checksum. What came before is to be thrown away."""

    reason = "BLOB_CORRUPTED"


class Unimplemented(ContextKeepError):
    """The server does not know this RPC."""

    code = grpc.StatusCode.UNIMPLEMENTED
    reason = "UNIMPLEMENTED"


class Internal(ContextKeepError):
    """A fault of the server; `call_id` in the metadata finds its cause in the log."""

    code = grpc.StatusCode.INTERNAL
    reason = "INTERNAL"


def error_classes() -> Iterator[type[ContextKeepError]]:
    """Yield every class that has a status: the rows of the error table, parents before children."""
    pending = list(ContextKeepError.__subclasses__())
    while pending:
        error_class = pending.pop(0)
        yield error_class
        pending.extend(error_class.__subclasses__())
