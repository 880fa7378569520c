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
    ├── Unavailable          UNAVAILABLE          Overloaded, TenantMoving, SchemaBehind, ChangesHeldUp
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
    """An invalid field of a request."""

    field: str  # path in the request message, e.g. "node.data_json"
    description: str


class ContextKeepError(Exception):
    """Base of all errors of the services.

    Args:
        message: For people: the problem, and how to fix it. Programs read `reason` and `metadata`.
        field: Path of the request field that is at fault, if one is.
        violations: Several of them.
        retry_after_s: Seconds to wait before another attempt; None if the server does not say.
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
    """A field of the request is missing or malformed; `violations` name the fields.

    Do: Correct the request; a retry fails again.

    Metadata:
        rule, line, column: Where an expression of a mapping or definition is wrong.
        limit, limit_max, value: The limit of a request as a whole.
        dimension: The length that the vector must have.
        known: The names that are accepted.
        lifetime_max_s, ttl_s_max: The longest lifetime that is accepted.
        node_id: The node that is at fault.
    """

    code = grpc.StatusCode.INVALID_ARGUMENT
    reason = "INVALID_ARGUMENT"


class InvalidPageToken(InvalidArgument):
    """The page token is malformed, or belongs to another list or other filters.

    Do: Start again without a token; send the same filters with every page.
    """

    reason = "INVALID_PAGE_TOKEN"


class SizeMismatch(InvalidArgument):
    """The upload has more or fewer bytes than its header declared. Nothing was stored.

    Do: Upload again with the right size. A resumable upload with too few bytes takes further parts.

    Metadata:
        size_bytes: The bytes that arrived.
        size_bytes_declared: The bytes that were declared.
    """

    reason = "SIZE_MISMATCH"


class ChecksumMismatch(InvalidArgument):
    """The bytes of the upload do not match the declared sha256. Nothing was stored.

    Do: Compute the checksum of the bytes that you send, and upload again.

    Metadata:
        sha256: The checksum of the bytes that arrived.
    """

    reason = "CHECKSUM_MISMATCH"


class ArchiveRefused(InvalidArgument):
    """The archive is damaged, incomplete, or has content that cannot be stored. The pieces before stay imported.

    Do: Get an intact copy of the archive and continue the import at the byte that GetImport names.

    Metadata:
        piece: Number of the piece that was refused.
        offset_bytes: The byte at which an archive that ends too early must be continued.
        table: The table whose row was refused.
    """

    reason = "ARCHIVE_REFUSED"


class SubjectRequired(InvalidArgument):
    """The data belongs to users, and neither the key nor `subject_user_id` names one.

    Do: Set `subject_user_id`, or use a key of the user.
    """

    reason = "SUBJECT_REQUIRED"


class NotFound(ContextKeepError):
    """The object does not exist, or the caller may not see it: the error does not say which.

    Do: Check the id and the key; a retry fails again.

    Metadata:
        scope_id: The requested id.
    """

    code = grpc.StatusCode.NOT_FOUND
    reason = "NOT_FOUND"


class NodeNotFound(NotFound):
    """No node that the caller may see has this id, external id or name.

    Do: Check the id, the graph and the key.

    Metadata:
        node_id: The requested id.
        external_id: The requested external id.
        name, graph_name: The requested name and its graph.
    """

    reason = "NODE_NOT_FOUND"


class EdgeNotFound(NotFound):
    """No edge that the caller may see has this id, or this type and these ends.

    Do: Check the id. After a repeated delete: nothing, the edge is gone.

    Metadata:
        edge_id: The requested id.
        edge_type: The requested type.
    """

    reason = "EDGE_NOT_FOUND"


class EmbeddingNotFound(NotFound):
    """The node has no embedding with this name.

    Do: Write it with UpsertEmbedding, or see ListEmbeddings.

    Metadata:
        node_id: The node.
        name: The name of the embedding.
    """

    reason = "EMBEDDING_NOT_FOUND"


class RecordNotFound(NotFound):
    """No working memory record that the caller may see has this id.

    Do: Check the id and the key. A purged record does not come back.

    Metadata:
        working_memory_id: The requested id.
    """

    reason = "RECORD_NOT_FOUND"


class BlobNotFound(NotFound):
    """No blob that the caller may see has this key.

    Do: Check the key, or read by the id of the record.
    """

    reason = "BLOB_NOT_FOUND"


class UploadNotFound(NotFound):
    """No resumable upload has this id: it never existed, was given up, or was finished more than a day ago.

    Do: Look for the record; if there is none, start a new upload.
    """

    reason = "UPLOAD_NOT_FOUND"


class MappingNotFound(NotFound):
    """No mapping has this name in the requested app.

    Do: Name one of the apps in the metadata, or register the mapping.

    Metadata:
        mapping_name: The requested name.
        apps: The visible apps that have a mapping with this name.
    """

    reason = "MAPPING_NOT_FOUND"


class ToolNotFound(NotFound):
    """No tool has this name.

    Do: Use a name from ListTools.
    """

    reason = "TOOL_NOT_FOUND"


class ContextNotFound(NotFound):
    """No context that the caller may see has this id, or it was deleted.

    Do: Check the id and the key, or send a message without an id, which creates a context.

    Metadata:
        context_id: The requested id.
    """

    reason = "CONTEXT_NOT_FOUND"


class ErasureNotFound(NotFound):
    """No erasure that the caller may see has this id. The receipt of a context is kept for a year.

    Do: Check the id and the key.

    Metadata:
        erasure_id: The requested id.
    """

    reason = "ERASURE_NOT_FOUND"


class HoldNotFound(NotFound):
    """No legal hold has this id: it never existed, or was released.

    Do: See ListHolds.

    Metadata:
        hold_id: The requested id.
    """

    reason = "HOLD_NOT_FOUND"


class SourceTestNotFound(NotFound):
    """No source test has this id, or it was deleted.

    Do: See ListSourceTests, or run the test again.
    """

    reason = "SOURCE_TEST_NOT_FOUND"


class MemoryNotFound(NotFound):
    """No memory that the caller may see has this id, or it was forgotten.

    Do: See ListMemories.

    Metadata:
        memory_id: The requested id.
    """

    reason = "MEMORY_NOT_FOUND"


class PageNotFound(NotFound):
    """No page that the caller may see has this id or name, or the page no longer has this version.

    Do: See ListPages and ListPageVersions.
    """

    reason = "PAGE_NOT_FOUND"


class MessageNotFound(NotFound):
    """The context has no message with this id, or the message was retracted.

    Do: See ListMessages.

    Metadata:
        message_id: The requested id.
        ref: The requested ref.
    """

    reason = "MESSAGE_NOT_FOUND"


class TaskNotFound(NotFound):
    """The context has no task with this id.

    Do: Check the ids of the context and the task; see ListTasks.

    Metadata:
        task_id: The requested id.
    """

    reason = "TASK_NOT_FOUND"


class ArtifactNotFound(NotFound):
    """The task has no artifact with this id, or the artifact has no such version.

    Do: See GetTask. Send the first chunk of an artifact without `append`.

    Metadata:
        artifact_id: The requested id.
        ref: The requested ref.
    """

    reason = "ARTIFACT_NOT_FOUND"


class WindowNotFound(NotFound):
    """No window that the caller may see has this id, or its context was deleted.

    Do: Open a window on a context that exists.

    Metadata:
        window_id: The requested id.
    """

    reason = "WINDOW_NOT_FOUND"


class PinNotFound(NotFound):
    """The window has no such pin: it was removed, or the message that it pins was retracted.

    Do: See GetWindow. After a repeated Unpin: nothing, the pin is gone.

    Metadata:
        pin_id: The requested id.
    """

    reason = "PIN_NOT_FOUND"


class CheckpointNotFound(NotFound):
    """The window does not have this checkpoint, or no longer has it.

    Newer checkpoints replaced it, the window was rolled back to an earlier one, or a message was retracted.

    Do: Choose one from ListCheckpoints.

    Metadata:
        checkpoint: The requested number.
    """

    reason = "CHECKPOINT_NOT_FOUND"


class RefNotFound(NotFound):
    """The context has no object with this ref.

    Do: Copy the ref from a pack unchanged; the comment of ExpandRequest lists the forms.

    Metadata:
        ref: The requested ref.
    """

    reason = "REF_NOT_FOUND"


class AgentNotFound(NotFound):
    """No agent that the caller may ask for has this id.

    Do: Check the id and the key, or register the agent with PutAgent.

    Metadata:
        agent_id: The requested id.
    """

    reason = "AGENT_NOT_FOUND"


class AgentTemplateNotFound(NotFound):
    """No agent template has this id.

    Do: Use an id from ListAgentTemplates, or create the template with PutAgentTemplate.

    Metadata:
        template_id: The requested id.
    """

    reason = "AGENT_TEMPLATE_NOT_FOUND"


class KnowledgeBaseNotFound(NotFound):
    """No knowledge base that the caller may see has this name.

    Do: Use a name from ListKnowledgeBases.

    Metadata:
        name: The requested name.
    """

    reason = "KNOWLEDGE_BASE_NOT_FOUND"


class DocumentNotFound(NotFound):
    """The knowledge base has no document with this id.

    Do: See ListDocuments.

    Metadata:
        document_id: The requested id.
    """

    reason = "DOCUMENT_NOT_FOUND"


class DefinitionNotFound(NotFound):
    """No definition that the caller may see has this name or version, or no version of it is approved.

    Do: See ListDefinitions; approve a version with ApproveDefinition.

    Metadata:
        definition_name: The requested name.
    """

    reason = "DEFINITION_NOT_FOUND"


class CompiledPageNotFound(NotFound):
    """No compiled page that the caller may see has this id, or its definition is no longer approved.

    Do: See ListCompiledPages, or compile the pages with CompilePages.
    """

    reason = "COMPILED_PAGE_NOT_FOUND"


class KeyNotFound(NotFound):
    """No key that the caller may manage begins with this prefix.

    Do: Use a prefix from ListKeys.
    """

    reason = "KEY_NOT_FOUND"


class TenantNotFound(NotFound):
    """No tenant has this name.

    Do: Use a name from ListTenants.
    """

    reason = "TENANT_NOT_FOUND"


class JobNotFound(NotFound):
    """No operator of the tenant started a job with this id.

    Do: Use an id from ListJobs.

    Metadata:
        job_id: The requested id.
    """

    reason = "JOB_NOT_FOUND"


class ImportNotFound(NotFound):
    """No import of the tenant has this id, or it ended too long ago.

    Do: Check the id. If the archive must still be imported, start again: rows that are there stay.

    Metadata:
        import_id: The requested id.
    """

    reason = "IMPORT_NOT_FOUND"


class McpServerNotFound(NotFound):
    """No MCP server has this id.

    Do: Use an id from ListMcpServers.

    Metadata:
        server_id: The requested id.
    """

    reason = "MCP_SERVER_NOT_FOUND"


class McpToolNotFound(NotFound):
    """The MCP server has no tool with this name, or no longer has it.

    Do: Call DiscoverMcpTools and use a name from ListMcpTools.

    Metadata:
        server_id: The server.
        tool_name: The requested name.
    """

    reason = "MCP_TOOL_NOT_FOUND"


class SpecialistNotFound(NotFound):
    """No specialist has this id.

    Do: Use an id from ListSpecialists.

    Metadata:
        specialist_id: The requested id.
    """

    reason = "SPECIALIST_NOT_FOUND"


class Erased(NotFound):
    """The object was deleted, retracted or erased, so a ref or the answer of a repeated request cannot be read.

    Do: Drop the ref. Do not repeat the request: it was done once, and its result was erased later.

    Metadata:
        ref: The requested ref.
        request_id: The request that was repeated.
    """

    reason = "ERASED"


class AlreadyExists(ContextKeepError):
    """Another object has this name or id already.

    Do: Use the existing object, or choose another name or id.
    """

    code = grpc.StatusCode.ALREADY_EXISTS
    reason = "ALREADY_EXISTS"


class NodeExists(AlreadyExists):
    """The id of a new node is taken.

    Do: Choose another id. To make a retry safe, send a `request_id`.

    Metadata:
        node_id: The id that is taken.
    """

    reason = "NODE_EXISTS"


class ExternalIdTaken(AlreadyExists):
    """Another node has this external id.

    Do: Use the node in the metadata, or create with `get_existing`, which returns it.

    Metadata:
        node_id: The node that has the external id.
    """

    reason = "EXTERNAL_ID_TAKEN"


class EdgeExists(AlreadyExists):
    """An edge of this type between the two nodes exists, or the id of a new edge is taken.

    Do: Use the edge in the metadata.

    Metadata:
        edge_id: The existing edge.
    """

    reason = "EDGE_EXISTS"


class RecordExists(AlreadyExists):
    """The id of a new working memory record is taken.

    Do: Choose another id, or update the record. To make a retry safe, send a `request_id`.

    Metadata:
        working_memory_id: The id that is taken.
    """

    reason = "RECORD_EXISTS"


class RequestIdReused(AlreadyExists):
    """The request id was used before, with other content or for another RPC. Nothing was done.

    Do: Make a new request id for each new request; repeat one only with the same content.

    Metadata:
        request_id: The id.
    """

    reason = "REQUEST_ID_REUSED"


class UploadPartExists(AlreadyExists):
    """The upload already has the bytes at the offset of this part.

    Do: Continue with the part at `offset_bytes`.

    Metadata:
        offset_bytes: The byte at which the next part begins.
    """

    reason = "UPLOAD_PART_EXISTS"


class MappingExists(AlreadyExists):
    """A mapping with this name has other rules, or is built in.

    Do: Register with `replace` or a higher `rules_version`, or choose another name.

    Metadata:
        mapping_name, app_id: The mapping, and its app.
        rules_version: The version of the stored rules.
        built_in: The mapping comes with the service.
    """

    reason = "MAPPING_EXISTS"


class PageNameTaken(AlreadyExists):
    """Another page has this slug, as its own or as an alias.

    Do: Choose another slug, or edit that page.

    Metadata:
        slug: The slug of the other page.
    """

    reason = "PAGE_NAME_TAKEN"


class MessageExists(AlreadyExists):
    """Another message of the context has this id.

    Do: Choose another id. To make a retry safe, send a `request_id`.

    Metadata:
        message_id: The id that is taken.
    """

    reason = "MESSAGE_EXISTS"


class Aborted(ContextKeepError):
    """Another call changed the same object first, several times in a row.

    Do: Read again, decide again, and retry after a short backoff.

    Metadata:
        upload_id, context_id, record_id: The object that the other call changed.
    """

    code = grpc.StatusCode.ABORTED
    reason = "ABORTED"


class VersionConflict(Aborted):
    """The stored version is not `expected_version`. Nothing was written.

    Do: Read the object again, apply your change to it, and retry with its version.

    Metadata:
        version: The stored version.
        task_id: The task, if it is one.
    """

    reason = "VERSION_CONFLICT"


class StatusConflict(Aborted):
    """The stored status is not `expected_status`. Nothing was written.

    Do: Read the node again and decide whether the change still makes sense.

    Metadata:
        status: The stored status.
    """

    reason = "STATUS_CONFLICT"


class UploadExpired(Aborted):
    """No byte of the upload arrived for so long that it was given up. Nothing was stored.

    Do: Upload again from the first byte.
    """

    reason = "UPLOAD_EXPIRED"


class WindowBehind(Aborted):
    """The window has more messages to read than the call had time for. The messages that it read stay read.

    Do: Retry the same call at once: it continues where this one stopped.

    Metadata:
        reached_seq: The last message that the window has read.
        last_seq: The newest message of the context.
    """

    reason = "WINDOW_BEHIND"


class FoldStale(Aborted):
    """The window was folded or changed since the fold was prepared, or since `expected_epoch`.

    Do: Prepare another fold.

    Metadata:
        epoch: The current epoch of the window.
    """

    reason = "FOLD_STALE"


class CompileUnderWay(Aborted):
    """Another compile of keys with the same bounds is running. The pages that this one stored stay.

    Do: Wait for the other compile, or retry after `retry_after_s`.
    """

    reason = "COMPILE_UNDER_WAY"


class LogMoved(Aborted):
    """The context has messages after the last one that the caller knows. Nothing was done.

    Do: Read the new messages, decide again, and retry with the new `expected_last_seq`.

    Metadata:
        last_seq: The newest message of the context.
    """

    reason = "LOG_MOVED"


class ImportMoved(Aborted):
    """The call continues the import at a byte where the import does not stand, or the import has ended.

    Do: Ask GetImport for the byte and continue there.

    Metadata:
        import_id: The import.
        offset_bytes: The byte that the import has reached.
        state: Whether it runs or has ended.
        context_id: The context that another call created meanwhile: start the import again.
    """

    reason = "IMPORT_MOVED"


class FailedPrecondition(ContextKeepError):
    """The state of the object, or the configuration of the service, does not allow the call.

    Do: Change that state first; a retry alone fails again.
    """

    code = grpc.StatusCode.FAILED_PRECONDITION
    reason = "FAILED_PRECONDITION"


class LegalHold(FailedPrecondition):
    """A legal hold forbids to erase this data.

    Do: Release the holds first, if you may.

    Metadata:
        hold_ids: The holds.
    """

    reason = "LEGAL_HOLD"


class JobRunning(FailedPrecondition):
    """A job of the same kind is running.

    Do: Wait until GetJob says that it has ended.

    Metadata:
        job_id: The job that is running.
    """

    reason = "JOB_RUNNING"


class SecretsKeyMissing(FailedPrecondition):
    """The service has no key to encrypt secrets with.

    Do: Ask the operator to set SECRETS_KEY.
    """

    reason = "SECRETS_KEY_MISSING"


class SecretUnreadable(FailedPrecondition):
    """A stored secret was encrypted with a key that the service no longer has.

    Do: Send the secret again, or ask the operator to add the old key.
    """

    reason = "SECRET_UNREADABLE"


class AddressRefused(FailedPrecondition):
    """The service sends nothing to this address: it is not public, and the operator has not allowed it.

    Do: Use a public address, or ask the operator to allow this one.
    """

    reason = "ADDRESS_REFUSED"


class KnowledgeBaseFailed(FailedPrecondition):
    """The knowledge base of another service refused the query; the message says why.

    Do: Correct what the message names, at the other service or in its configuration here.
    """

    reason = "KNOWLEDGE_BASE_FAILED"


class McpServerFailed(FailedPrecondition):
    """The MCP server answered in a way that the service cannot use; the message says how.

    Do: Correct the MCP server or its address, then call DiscoverMcpTools again.
    """

    reason = "MCP_SERVER_FAILED"


class McpToolNotDeclared(FailedPrecondition):
    """The MCP tool does not declare that it is read-only, or no administrator declared that it is safe to search with.

    Do: Declare it at the MCP server, or approve with `record_search_safe` if only the second is missing.
    """

    reason = "MCP_TOOL_NOT_DECLARED"


class McpToolChanged(FailedPrecondition):
    """The definition of the MCP tool changed since you read it.

    Do: Read the new definition with ListMcpTools and approve that one.
    """

    reason = "MCP_TOOL_CHANGED"


class AgentTemplateInUse(FailedPrecondition):
    """Agents use the template, so it cannot be deleted.

    Do: Write these agents without it first, with PutAgent.

    Metadata:
        template_id: The template.
    """

    reason = "AGENT_TEMPLATE_IN_USE"


class RecordArchived(FailedPrecondition):
    """The record is archived.

    Do: Read it with `include_archived`, or restore it with RestoreWMRecord.

    Metadata:
        working_memory_id: The record.
    """

    reason = "RECORD_ARCHIVED"


class RecordHasBlob(FailedPrecondition):
    """The content of the record is a blob, so it cannot get inline content.

    Do: Upload a new blob.

    Metadata:
        working_memory_id: The record.
    """

    reason = "RECORD_HAS_BLOB"


class RecordHasNoBlob(FailedPrecondition):
    """The record has no blob; its content, if any, is inline JSON.

    Do: Read it with the RPC in `use`.

    Metadata:
        working_memory_id: The record.
        use: The RPC that reads the record.
    """

    reason = "RECORD_HAS_NO_BLOB"


class ProviderNotConfigured(FailedPrecondition):
    """The blob is stored with a provider that the service is not configured for, or that refuses its credentials.

    Do: Ask the operator to configure the provider; retry then.

    Metadata:
        provider: The provider, such as "azure".
    """

    reason = "PROVIDER_NOT_CONFIGURED"


class NoDownloadUrl(FailedPrecondition):
    """The provider of the blob, or its credentials, cannot sign a URL.

    Do: Read the blob with GetBlob.

    Metadata:
        provider: The provider of the blob.
        use: The RPC that reads it.
    """

    reason = "NO_DOWNLOAD_URL"


class MappingFailed(FailedPrecondition):
    """A rule of the mapping failed on a node, and the call is `strict`; or `order_by` gives no node a value.

    Do: Correct the rule or the node, or call without `strict`, which leaves the node out. Test the value of `order_by`
    with TestMapping.

    Metadata:
        node_id: The node.
        rule: The rule.
    """

    reason = "MAPPING_FAILED"


class MappingBroken(FailedPrecondition):
    """A registered mapping no longer compiles.

    Do: Register it again with correct rules.

    Metadata:
        mapping_name: The mapping.
    """

    reason = "MAPPING_BROKEN"


class MappingBuiltIn(FailedPrecondition):
    """The mapping comes with the service and cannot be deleted.

    Do: Nothing; register a mapping with another name for other rules.

    Metadata:
        mapping_name: The mapping.
    """

    reason = "MAPPING_BUILT_IN"


class PlanOutdated(FailedPrecondition):
    """Memories changed since the dry run. Nothing was done.

    Do: Make another dry run and apply its plan.
    """

    reason = "PLAN_OUTDATED"


class ContextClosed(FailedPrecondition):
    """The context is closed or past its lifetime, and takes no more messages.

    Do: Use another context; this one stays readable.

    Metadata:
        context_id: The context.
    """

    reason = "CONTEXT_CLOSED"


class WindowClosed(FailedPrecondition):
    """The window is closed and makes no more packs.

    Do: Open another window on its context.

    Metadata:
        window_id: The window.
    """

    reason = "WINDOW_CLOSED"


class TaskEnded(FailedPrecondition):
    """The task has ended and cannot change.

    Do: Create a new task in the same context, with this one in `reference_task_ids`.

    Metadata:
        task_id: The task.
        state: The final state of the task.
    """

    reason = "TASK_ENDED"


class ArtifactComplete(FailedPrecondition):
    """This version of the artifact already has its last chunk.

    Do: Put a new version: send its first chunk without `append`.

    Metadata:
        artifact_id: The artifact.
    """

    reason = "ARTIFACT_COMPLETE"


class ChangesNotStarted(FailedPrecondition):
    """The changes of the tenant are not recorded: StartChanges was not called, or has not returned yet.

    Do: Call StartChanges, and list changes after it returns.

    Metadata:
        oldest_transaction_s: Age of the transaction that StartChanges waits for.
    """

    reason = "CHANGES_NOT_STARTED"


class OutOfRange(ContextKeepError):
    """A position is past the end.

    Do: Ask for a position that exists; a retry fails again.
    """

    code = grpc.StatusCode.OUT_OF_RANGE
    reason = "OUT_OF_RANGE"


class RangePastEnd(OutOfRange):
    """The byte range starts after the end of the blob.

    Do: Ask for a range below `size_bytes`.

    Metadata:
        size_bytes: The size of the blob.
    """

    reason = "RANGE_PAST_END"


class ChangesExpired(OutOfRange):
    """The service no longer has the changes after this cursor, or its database was restored from a backup.

    Do: Call ListChanges without `place` for a new cursor, then read everything again.
    """

    reason = "CHANGES_EXPIRED"


class UploadGap(OutOfRange):
    """The upload does not have the bytes before the offset of this part yet.

    Do: Send the part at `offset_bytes` first.

    Metadata:
        offset_bytes: The byte at which the next part begins.
    """

    reason = "UPLOAD_GAP"


class ResourceExhausted(ContextKeepError):
    """A limit of size, count, depth, cost or rate was exceeded.

    gRPC itself refuses a message over 4 MiB or metadata over 8 KiB: such an error has a text and no details.

    Do: Make the request smaller. Retry only where the error has `retry_after_s`.
    """

    code = grpc.StatusCode.RESOURCE_EXHAUSTED
    reason = "RESOURCE_EXHAUSTED"


class LimitExceeded(ResourceExhausted):
    """A value exceeds a limit.

    Do: Make the value smaller; docs/limits.md lists all limits and the settings that change them.

    Metadata:
        limit: The name of the limit.
        limit_max: The highest value that is accepted.
        value: The value of the request.
    """

    reason = "LIMIT_EXCEEDED"


class BlobTooLarge(ResourceExhausted):
    """The upload exceeds the size limit. Nothing was stored.

    Do: Split the file, or ask the operator for a higher limit.

    Metadata:
        limit, limit_max, value: The limit, and the size.
        size_bytes, size_bytes_max: The same size and limit.
    """

    reason = "BLOB_TOO_LARGE"


class AnswerTooLarge(ResourceExhausted):
    """The response does not fit into one message.

    Do: Call the RPC in `use`, which streams, or ask for fewer or smaller items.

    Metadata:
        use: The RPC that streams the same data, if there is one.
        node_id, entity_node_id: The node that is too large.
        size_bytes, size_bytes_max: The size, and the limit.
    """

    reason = "ANSWER_TOO_LARGE"


class SliceTooLarge(ResourceExhausted):
    """The filters leave more vectors than one search compares.

    Do: Add one of the filters in the metadata.

    Metadata:
        filters: The filters that make the search smaller.
        limit, limit_max, value: The limit, and the count of vectors.
    """

    reason = "SLICE_TOO_LARGE"


class NodeBudgetExceeded(ResourceExhausted):
    """The walk would visit more nodes than `node_budget` allows.

    Do: Limit depth or edge types, or raise `node_budget`.

    Metadata:
        node_budget: The budget of the call.
        limit, limit_max, value: The limit, and the count of nodes.
    """

    reason = "NODE_BUDGET_EXCEEDED"


class CostExceeded(ResourceExhausted):
    """The expressions of a mapping cost more to evaluate than one call may spend.

    Do: Simplify the rules, or ask for fewer nodes.

    Metadata:
        limit, limit_max, value: The limit, and the cost.
    """

    reason = "COST_EXCEEDED"


class BudgetTooSmall(ResourceExhausted):
    """The required parts of a pack do not fit into the token limit of the window.

    Do: Raise the token limit to `least`, or shorten the system prompt, tools, goal or pins.

    Metadata:
        least: The smallest token limit that fits.
        token_limit: The token limit of the window.
    """

    reason = "BUDGET_TOO_SMALL"


class TokensSpent(ResourceExhausted):
    """With this pack, the window would exceed the total tokens that it may send. Earlier packs set `wrap_up`.

    Do: End the run, or open another window on the same context with a higher `max_total_tokens`.

    Metadata:
        max_total_tokens: The tokens that all packs together may have.
        spent_tokens: The tokens of the packs so far.
        tokens: The tokens of this pack.
    """

    reason = "TOKENS_SPENT"


class FoldNoProgress(FailedPrecondition):
    """A fold would remove nothing: the window is already as compact as it can be.

    Do: Nothing; if the window is still too large, raise its token limit.
    """

    reason = "FOLD_NO_PROGRESS"


class FoldNotPrepared(FailedPrecondition):
    """No fold was prepared with the current configuration of the window.

    Do: Call PrepareFold first.
    """

    reason = "FOLD_NOT_PREPARED"


class StorageFull(ResourceExhausted):
    """The disk, the bucket or the database has no room left.

    Do: Tell the operator; a retry fails until there is room.

    Metadata:
        dependency: The store that is full, such as "postgres".
    """

    reason = "STORAGE_FULL"


class TooManyCalls(ResourceExhausted):
    """The process already runs as many calls as it may: in total, for the tenant or for the key.

    Do: Retry after `retry_after_s`, with fewer calls at once; another replica may accept the call now.

    Metadata:
        limit: The limit, which says whether it is of the process, the tenant or the key.
        limit_max, value: The limit, and the count of calls.
    """

    reason = "TOO_MANY_CALLS"


class HeldBytesExceeded(ResourceExhausted):
    """The process would hold more bytes for its callers than it may.

    It holds requests, responses that are not read yet, and the data that an import has sent so far.

    Do: Read responses to their end, make fewer calls at once, and retry after `retry_after_s`.

    Metadata:
        limit: `held_bytes_of_key`, `held_bytes_of_tenant`, `held_bytes` (all callers) or `memory_bytes` (the process).
        limit_max, value: The limit, and the bytes.
    """

    reason = "HELD_BYTES_EXCEEDED"


class RateLimited(ResourceExhausted):
    """The key or the tenant makes more calls than its rate limit allows.

    Do: Retry after `retry_after_s`, and call less often.

    Metadata:
        limit, limit_max: The limit, and its calls per second.
    """

    reason = "RATE_LIMITED"


class Unauthenticated(ContextKeepError):
    """The call has no valid key or token.

    Do: Send a key that is neither expired nor revoked; a retry with the same one fails again.
    """

    code = grpc.StatusCode.UNAUTHENTICATED
    reason = "UNAUTHENTICATED"


class PermissionDenied(ContextKeepError):
    """The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another user.

    Do: Use a key that has the scope and may reach the data; a retry fails again.

    Metadata:
        scope: The scope that the call needs.
        app_id: The app that the key is not bound to.
    """

    code = grpc.StatusCode.PERMISSION_DENIED
    reason = "PERMISSION_DENIED"


class PackVetoed(PermissionDenied):
    """An extension that the operator installed refused this pack; the message says why.

    Do: Follow the message, or ask the operator.
    """

    reason = "PACK_VETOED"


class ProviderNotAllowed(PermissionDenied):
    """The policy of the agent, or of its template, does not allow this provider or family.

    Do: Ask another provider, or ask an administrator to change the policy.

    Metadata:
        provider: The requested provider or family.
    """

    reason = "PROVIDER_NOT_ALLOWED"


class Unavailable(ContextKeepError):
    """The service, or a dependency of it, does not answer.

    Do: Retry with backoff, writes with the same `request_id`. The clients do this for you.

    Metadata:
        dependency: The dependency that does not answer, such as "postgres"; absent for the service itself.
        address: The address that the client cannot reach.
    """

    code = grpc.StatusCode.UNAVAILABLE
    reason = "UNAVAILABLE"


class Overloaded(Unavailable):
    """All database connections of the process are busy.

    Do: Retry after `retry_after_s`. The clients do this for you.

    Metadata:
        dependency: The database.
    """

    reason = "OVERLOADED"


class TenantMoving(Unavailable):
    """The tenant is moving to another database, or this process does not know yet that it moved. Nothing was done.

    Do: Retry after `retry_after_s`. The clients do this for you.

    Metadata:
        dependency: The database.
    """

    reason = "TENANT_MOVING"


class SchemaBehind(Unavailable):
    """The database lacks a migration that this version of the service needs. Nothing was done.

    Do: Run `migrate` as the operator; the same call works afterwards.

    Metadata:
        dependency: The database.
    """

    reason = "SCHEMA_BEHIND"


class ChangesHeldUp(Unavailable):
    """The list of changes waits for a transaction that began before it, of any tenant.

    Do: Retry after `retry_after_s`. If it stays, ask the operator to end the transaction.

    Metadata:
        oldest_transaction_s: The age of that transaction.
        dependency: The database.
    """

    reason = "CHANGES_HELD_UP"


class DeadlineExceeded(ContextKeepError):
    """The call did not finish within its deadline. A write may have happened.

    Do: Retry a read, or a write with the same `request_id`, with a longer deadline.

    Metadata:
        dependency: The dependency that did not answer in time.
        address: The address that did not answer in time.
        idle_timeout_s: Seconds without any traffic on a stream.
        size_bytes: The bytes of a request body that arrived in time.
    """

    code = grpc.StatusCode.DEADLINE_EXCEEDED
    reason = "DEADLINE_EXCEEDED"


class StreamIdle(DeadlineExceeded):
    """The caller of a stream neither sent nor read anything for too long, and the server ended it.

    Do: Read and send without long pauses. Start a list again from its last page token.

    Metadata:
        stream_idle_s: Seconds that a stream may be idle.
    """

    reason = "STREAM_IDLE"


class Cancelled(ContextKeepError):
    """The caller cancelled the call, or closed its connection. A write may have happened.

    Do: Nothing; repeat a write with the same `request_id` if you need its result.
    """

    code = grpc.StatusCode.CANCELLED
    reason = "CANCELLED"


class DataLoss(ContextKeepError):
    """Stored data is not what was written.

    Do: Tell the operator; a retry fails again.
    """

    code = grpc.StatusCode.DATA_LOSS
    reason = "DATA_LOSS"


class BlobCorrupted(DataLoss):
    """Stored bytes are missing or do not match their checksum.

    Do: Discard the bytes that you received. Ask the operator to run `storage fsck`, or upload the file again.

    Metadata:
        provider: The provider of the blob.
        working_memory_id: The record.
        position_bytes: The byte at which the fault was found.
        size_bytes, sha256: The size and checksum of the blob.
        size_bytes_sent, sha256_sent: The size and checksum that the server sent.
        size_bytes_received, sha256_received: The size and checksum that the client received.
    """

    reason = "BLOB_CORRUPTED"


class Unimplemented(ContextKeepError):
    """The server does not have this RPC, or not over this protocol.

    Do: Check the name and the version of the server; call streams over gRPC.
    """

    code = grpc.StatusCode.UNIMPLEMENTED
    reason = "UNIMPLEMENTED"


class Internal(ContextKeepError):
    """The server has a fault.

    Do: Report it with the call id. Retry a read, or a write with the same `request_id`, at most once.

    Metadata:
        call_id: The id that finds the cause in the log of the server.
    """

    code = grpc.StatusCode.INTERNAL
    reason = "INTERNAL"


def error_classes() -> Iterator[type[ContextKeepError]]:
    """Yield every class that has a status: the rows of the error table, parents before children."""
    pending = list(ContextKeepError.__subclasses__())
    while pending:
        error_class = pending.pop(0)
        yield error_class
        pending.extend(error_class.__subclasses__())
