// Made from contextkeep/errors.py by `make proto`: the same classes, codes and reasons.

import { ContextKeepError, type StatusCode } from "../error.js";

/** A field of the request is missing or malformed; `violations` name the fields. */
export class InvalidArgument extends ContextKeepError {
  static override readonly code: StatusCode = "INVALID_ARGUMENT";
  static override readonly reason: string = "INVALID_ARGUMENT";
}

/** The page token is malformed, or belongs to another list or other filters. */
export class InvalidPageToken extends InvalidArgument {
  static override readonly reason: string = "INVALID_PAGE_TOKEN";
}

/** The upload has more or fewer bytes than its header declared. Nothing was stored. */
export class SizeMismatch extends InvalidArgument {
  static override readonly reason: string = "SIZE_MISMATCH";
}

/** The bytes of the upload do not match the declared sha256. Nothing was stored. */
export class ChecksumMismatch extends InvalidArgument {
  static override readonly reason: string = "CHECKSUM_MISMATCH";
}

/** The archive is damaged, incomplete, or has content that cannot be stored. The pieces before stay imported. */
export class ArchiveRefused extends InvalidArgument {
  static override readonly reason: string = "ARCHIVE_REFUSED";
}

/** The data belongs to users, and neither the key nor `subject_user_id` names one. */
export class SubjectRequired extends InvalidArgument {
  static override readonly reason: string = "SUBJECT_REQUIRED";
}

/** The object does not exist, or the caller may not see it: the error does not say which. */
export class NotFound extends ContextKeepError {
  static override readonly code: StatusCode = "NOT_FOUND";
  static override readonly reason: string = "NOT_FOUND";
}

/** No node that the caller may see has this id, external id or name. */
export class NodeNotFound extends NotFound {
  static override readonly reason: string = "NODE_NOT_FOUND";
}

/** No edge that the caller may see has this id, or this type and these ends. */
export class EdgeNotFound extends NotFound {
  static override readonly reason: string = "EDGE_NOT_FOUND";
}

/** The node has no embedding with this name. */
export class EmbeddingNotFound extends NotFound {
  static override readonly reason: string = "EMBEDDING_NOT_FOUND";
}

/** No working memory record that the caller may see has this id. */
export class RecordNotFound extends NotFound {
  static override readonly reason: string = "RECORD_NOT_FOUND";
}

/** No blob that the caller may see has this key. */
export class BlobNotFound extends NotFound {
  static override readonly reason: string = "BLOB_NOT_FOUND";
}

/** No resumable upload has this id: it never existed, was given up, or was finished more than a day ago. */
export class UploadNotFound extends NotFound {
  static override readonly reason: string = "UPLOAD_NOT_FOUND";
}

/** No mapping has this name in the requested app. */
export class MappingNotFound extends NotFound {
  static override readonly reason: string = "MAPPING_NOT_FOUND";
}

/** No tool has this name. */
export class ToolNotFound extends NotFound {
  static override readonly reason: string = "TOOL_NOT_FOUND";
}

/** No context that the caller may see has this id, or it was deleted. */
export class ContextNotFound extends NotFound {
  static override readonly reason: string = "CONTEXT_NOT_FOUND";
}

/** No erasure that the caller may see has this id. The receipt of a context is kept for a year. */
export class ErasureNotFound extends NotFound {
  static override readonly reason: string = "ERASURE_NOT_FOUND";
}

/** No legal hold has this id: it never existed, or was released. */
export class HoldNotFound extends NotFound {
  static override readonly reason: string = "HOLD_NOT_FOUND";
}

/** No source test has this id, or it was deleted. */
export class SourceTestNotFound extends NotFound {
  static override readonly reason: string = "SOURCE_TEST_NOT_FOUND";
}

/** No memory that the caller may see has this id, or it was forgotten. */
export class MemoryNotFound extends NotFound {
  static override readonly reason: string = "MEMORY_NOT_FOUND";
}

/** No page that the caller may see has this id or name, or the page no longer has this version. */
export class PageNotFound extends NotFound {
  static override readonly reason: string = "PAGE_NOT_FOUND";
}

/** The context has no message with this id, or the message was retracted. */
export class MessageNotFound extends NotFound {
  static override readonly reason: string = "MESSAGE_NOT_FOUND";
}

/** The context has no task with this id. */
export class TaskNotFound extends NotFound {
  static override readonly reason: string = "TASK_NOT_FOUND";
}

/** The task has no artifact with this id, or the artifact has no such version. */
export class ArtifactNotFound extends NotFound {
  static override readonly reason: string = "ARTIFACT_NOT_FOUND";
}

/** No window that the caller may see has this id, or its context was deleted. */
export class WindowNotFound extends NotFound {
  static override readonly reason: string = "WINDOW_NOT_FOUND";
}

/** The window has no such pin: it was removed, or the message that it pins was retracted. */
export class PinNotFound extends NotFound {
  static override readonly reason: string = "PIN_NOT_FOUND";
}

/** The window does not have this checkpoint, or no longer has it. */
export class CheckpointNotFound extends NotFound {
  static override readonly reason: string = "CHECKPOINT_NOT_FOUND";
}

/** The context has no object with this ref. */
export class RefNotFound extends NotFound {
  static override readonly reason: string = "REF_NOT_FOUND";
}

/** No agent that the caller may ask for has this id. */
export class AgentNotFound extends NotFound {
  static override readonly reason: string = "AGENT_NOT_FOUND";
}

/** No agent template has this id. */
export class AgentTemplateNotFound extends NotFound {
  static override readonly reason: string = "AGENT_TEMPLATE_NOT_FOUND";
}

/** No knowledge base that the caller may see has this name. */
export class KnowledgeBaseNotFound extends NotFound {
  static override readonly reason: string = "KNOWLEDGE_BASE_NOT_FOUND";
}

/** The knowledge base has no document with this id. */
export class DocumentNotFound extends NotFound {
  static override readonly reason: string = "DOCUMENT_NOT_FOUND";
}

/** No definition that the caller may see has this name or version, or no version of it is approved. */
export class DefinitionNotFound extends NotFound {
  static override readonly reason: string = "DEFINITION_NOT_FOUND";
}

/** No compiled page that the caller may see has this id, or its definition is no longer approved. */
export class CompiledPageNotFound extends NotFound {
  static override readonly reason: string = "COMPILED_PAGE_NOT_FOUND";
}

/** No key that the caller may manage begins with this prefix. */
export class KeyNotFound extends NotFound {
  static override readonly reason: string = "KEY_NOT_FOUND";
}

/** No tenant has this name. */
export class TenantNotFound extends NotFound {
  static override readonly reason: string = "TENANT_NOT_FOUND";
}

/** No operator of the tenant started a job with this id. */
export class JobNotFound extends NotFound {
  static override readonly reason: string = "JOB_NOT_FOUND";
}

/** No import of the tenant has this id, or it ended too long ago. */
export class ImportNotFound extends NotFound {
  static override readonly reason: string = "IMPORT_NOT_FOUND";
}

/** No MCP server has this id. */
export class McpServerNotFound extends NotFound {
  static override readonly reason: string = "MCP_SERVER_NOT_FOUND";
}

/** The MCP server has no tool with this name, or no longer has it. */
export class McpToolNotFound extends NotFound {
  static override readonly reason: string = "MCP_TOOL_NOT_FOUND";
}

/** No specialist has this id. */
export class SpecialistNotFound extends NotFound {
  static override readonly reason: string = "SPECIALIST_NOT_FOUND";
}

/** The object was deleted, retracted or erased, so a ref or the answer of a repeated request cannot be read. */
export class Erased extends NotFound {
  static override readonly reason: string = "ERASED";
}

/** Another object has this name or id already. */
export class AlreadyExists extends ContextKeepError {
  static override readonly code: StatusCode = "ALREADY_EXISTS";
  static override readonly reason: string = "ALREADY_EXISTS";
}

/** The id of a new node is taken. */
export class NodeExists extends AlreadyExists {
  static override readonly reason: string = "NODE_EXISTS";
}

/** Another node has this external id. */
export class ExternalIdTaken extends AlreadyExists {
  static override readonly reason: string = "EXTERNAL_ID_TAKEN";
}

/** An edge of this type between the two nodes exists, or the id of a new edge is taken. */
export class EdgeExists extends AlreadyExists {
  static override readonly reason: string = "EDGE_EXISTS";
}

/** The id of a new working memory record is taken. */
export class RecordExists extends AlreadyExists {
  static override readonly reason: string = "RECORD_EXISTS";
}

/** The request id was used before, with other content or for another RPC. Nothing was done. */
export class RequestIdReused extends AlreadyExists {
  static override readonly reason: string = "REQUEST_ID_REUSED";
}

/** The upload already has the bytes at the offset of this part. */
export class UploadPartExists extends AlreadyExists {
  static override readonly reason: string = "UPLOAD_PART_EXISTS";
}

/** A mapping with this name has other rules, or is built in. */
export class MappingExists extends AlreadyExists {
  static override readonly reason: string = "MAPPING_EXISTS";
}

/** Another page has this slug, as its own or as an alias. */
export class PageNameTaken extends AlreadyExists {
  static override readonly reason: string = "PAGE_NAME_TAKEN";
}

/** Another message of the context has this id. */
export class MessageExists extends AlreadyExists {
  static override readonly reason: string = "MESSAGE_EXISTS";
}

/** Another call changed the same object first, several times in a row. */
export class Aborted extends ContextKeepError {
  static override readonly code: StatusCode = "ABORTED";
  static override readonly reason: string = "ABORTED";
}

/** The stored version is not `expected_version`. Nothing was written. */
export class VersionConflict extends Aborted {
  static override readonly reason: string = "VERSION_CONFLICT";
}

/** The stored status is not `expected_status`. Nothing was written. */
export class StatusConflict extends Aborted {
  static override readonly reason: string = "STATUS_CONFLICT";
}

/** No byte of the upload arrived for so long that it was given up. Nothing was stored. */
export class UploadExpired extends Aborted {
  static override readonly reason: string = "UPLOAD_EXPIRED";
}

/** The window has more messages to read than the call had time for. The messages that it read stay read. */
export class WindowBehind extends Aborted {
  static override readonly reason: string = "WINDOW_BEHIND";
}

/** The window was folded or changed since the fold was prepared, or since `expected_epoch`. */
export class FoldStale extends Aborted {
  static override readonly reason: string = "FOLD_STALE";
}

/** Another compile of keys with the same bounds is running. The pages that this one stored stay. */
export class CompileUnderWay extends Aborted {
  static override readonly reason: string = "COMPILE_UNDER_WAY";
}

/** The context has messages after the last one that the caller knows. Nothing was done. */
export class LogMoved extends Aborted {
  static override readonly reason: string = "LOG_MOVED";
}

/** The call continues the import at a byte where the import does not stand, or the import has ended. */
export class ImportMoved extends Aborted {
  static override readonly reason: string = "IMPORT_MOVED";
}

/** The state of the object, or the configuration of the service, does not allow the call. */
export class FailedPrecondition extends ContextKeepError {
  static override readonly code: StatusCode = "FAILED_PRECONDITION";
  static override readonly reason: string = "FAILED_PRECONDITION";
}

/** A legal hold forbids to erase this data. */
export class LegalHold extends FailedPrecondition {
  static override readonly reason: string = "LEGAL_HOLD";
}

/** A job of the same kind is running. */
export class JobRunning extends FailedPrecondition {
  static override readonly reason: string = "JOB_RUNNING";
}

/** The service has no key to encrypt secrets with. */
export class SecretsKeyMissing extends FailedPrecondition {
  static override readonly reason: string = "SECRETS_KEY_MISSING";
}

/** A stored secret was encrypted with a key that the service no longer has. */
export class SecretUnreadable extends FailedPrecondition {
  static override readonly reason: string = "SECRET_UNREADABLE";
}

/** The service sends nothing to this address: it is not public, and the operator has not allowed it. */
export class AddressRefused extends FailedPrecondition {
  static override readonly reason: string = "ADDRESS_REFUSED";
}

/** The knowledge base of another service refused the query; the message says why. */
export class KnowledgeBaseFailed extends FailedPrecondition {
  static override readonly reason: string = "KNOWLEDGE_BASE_FAILED";
}

/** The MCP server answered in a way that the service cannot use; the message says how. */
export class McpServerFailed extends FailedPrecondition {
  static override readonly reason: string = "MCP_SERVER_FAILED";
}

/** The MCP tool does not declare that it is read-only, or no administrator declared that it is safe to search with. */
export class McpToolNotDeclared extends FailedPrecondition {
  static override readonly reason: string = "MCP_TOOL_NOT_DECLARED";
}

/** The definition of the MCP tool changed since you read it. */
export class McpToolChanged extends FailedPrecondition {
  static override readonly reason: string = "MCP_TOOL_CHANGED";
}

/** Agents use the template, so it cannot be deleted. */
export class AgentTemplateInUse extends FailedPrecondition {
  static override readonly reason: string = "AGENT_TEMPLATE_IN_USE";
}

/** The record is archived. */
export class RecordArchived extends FailedPrecondition {
  static override readonly reason: string = "RECORD_ARCHIVED";
}

/** The content of the record is a blob, so it cannot get inline content. */
export class RecordHasBlob extends FailedPrecondition {
  static override readonly reason: string = "RECORD_HAS_BLOB";
}

/** The record has no blob; its content, if any, is inline JSON. */
export class RecordHasNoBlob extends FailedPrecondition {
  static override readonly reason: string = "RECORD_HAS_NO_BLOB";
}

/** The blob is stored with a provider that the service is not configured for, or that refuses its credentials. */
export class ProviderNotConfigured extends FailedPrecondition {
  static override readonly reason: string = "PROVIDER_NOT_CONFIGURED";
}

/** The provider of the blob, or its credentials, cannot sign a URL. */
export class NoDownloadUrl extends FailedPrecondition {
  static override readonly reason: string = "NO_DOWNLOAD_URL";
}

/** A rule of the mapping failed on a node, and the call is `strict`; or `order_by` gives no node a value. */
export class MappingFailed extends FailedPrecondition {
  static override readonly reason: string = "MAPPING_FAILED";
}

/** A registered mapping no longer compiles. */
export class MappingBroken extends FailedPrecondition {
  static override readonly reason: string = "MAPPING_BROKEN";
}

/** The mapping comes with the service and cannot be deleted. */
export class MappingBuiltIn extends FailedPrecondition {
  static override readonly reason: string = "MAPPING_BUILT_IN";
}

/** Memories changed since the dry run. Nothing was done. */
export class PlanOutdated extends FailedPrecondition {
  static override readonly reason: string = "PLAN_OUTDATED";
}

/** The context is closed or past its lifetime, and takes no more messages. */
export class ContextClosed extends FailedPrecondition {
  static override readonly reason: string = "CONTEXT_CLOSED";
}

/** The window is closed and makes no more packs. */
export class WindowClosed extends FailedPrecondition {
  static override readonly reason: string = "WINDOW_CLOSED";
}

/** The task has ended and cannot change. */
export class TaskEnded extends FailedPrecondition {
  static override readonly reason: string = "TASK_ENDED";
}

/** This version of the artifact already has its last chunk. */
export class ArtifactComplete extends FailedPrecondition {
  static override readonly reason: string = "ARTIFACT_COMPLETE";
}

/** The changes of the tenant are not recorded: StartChanges was not called, or has not returned yet. */
export class ChangesNotStarted extends FailedPrecondition {
  static override readonly reason: string = "CHANGES_NOT_STARTED";
}

/** A fold would remove nothing: the window is already as compact as it can be. */
export class FoldNoProgress extends FailedPrecondition {
  static override readonly reason: string = "FOLD_NO_PROGRESS";
}

/** No fold was prepared with the current configuration of the window. */
export class FoldNotPrepared extends FailedPrecondition {
  static override readonly reason: string = "FOLD_NOT_PREPARED";
}

/** A position is past the end. */
export class OutOfRange extends ContextKeepError {
  static override readonly code: StatusCode = "OUT_OF_RANGE";
  static override readonly reason: string = "OUT_OF_RANGE";
}

/** The byte range starts after the end of the blob. */
export class RangePastEnd extends OutOfRange {
  static override readonly reason: string = "RANGE_PAST_END";
}

/** The service no longer has the changes after this cursor, or its database was restored from a backup. */
export class ChangesExpired extends OutOfRange {
  static override readonly reason: string = "CHANGES_EXPIRED";
}

/** The upload does not have the bytes before the offset of this part yet. */
export class UploadGap extends OutOfRange {
  static override readonly reason: string = "UPLOAD_GAP";
}

/** A limit of size, count, depth, cost or rate was exceeded. */
export class ResourceExhausted extends ContextKeepError {
  static override readonly code: StatusCode = "RESOURCE_EXHAUSTED";
  static override readonly reason: string = "RESOURCE_EXHAUSTED";
}

/** A value exceeds a limit. */
export class LimitExceeded extends ResourceExhausted {
  static override readonly reason: string = "LIMIT_EXCEEDED";
}

/** The upload exceeds the size limit. Nothing was stored. */
export class BlobTooLarge extends ResourceExhausted {
  static override readonly reason: string = "BLOB_TOO_LARGE";
}

/** The response does not fit into one message. */
export class AnswerTooLarge extends ResourceExhausted {
  static override readonly reason: string = "ANSWER_TOO_LARGE";
}

/** The filters leave more vectors than one search compares. */
export class SliceTooLarge extends ResourceExhausted {
  static override readonly reason: string = "SLICE_TOO_LARGE";
}

/** The walk would visit more nodes than `node_budget` allows. */
export class NodeBudgetExceeded extends ResourceExhausted {
  static override readonly reason: string = "NODE_BUDGET_EXCEEDED";
}

/** The expressions of a mapping cost more to evaluate than one call may spend. */
export class CostExceeded extends ResourceExhausted {
  static override readonly reason: string = "COST_EXCEEDED";
}

/** The required parts of a pack do not fit into the token limit of the window. */
export class BudgetTooSmall extends ResourceExhausted {
  static override readonly reason: string = "BUDGET_TOO_SMALL";
}

/** With this pack, the window would exceed the total tokens that it may send. Earlier packs set `wrap_up`. */
export class TokensSpent extends ResourceExhausted {
  static override readonly reason: string = "TOKENS_SPENT";
}

/** The disk, the bucket or the database has no room left. */
export class StorageFull extends ResourceExhausted {
  static override readonly reason: string = "STORAGE_FULL";
}

/** The process already runs as many calls as it may: in total, for the tenant or for the key. */
export class TooManyCalls extends ResourceExhausted {
  static override readonly reason: string = "TOO_MANY_CALLS";
}

/** The process would hold more bytes for its callers than it may. */
export class HeldBytesExceeded extends ResourceExhausted {
  static override readonly reason: string = "HELD_BYTES_EXCEEDED";
}

/** The key or the tenant makes more calls than its rate limit allows. */
export class RateLimited extends ResourceExhausted {
  static override readonly reason: string = "RATE_LIMITED";
}

/** The call has no valid key or token. */
export class Unauthenticated extends ContextKeepError {
  static override readonly code: StatusCode = "UNAUTHENTICATED";
  static override readonly reason: string = "UNAUTHENTICATED";
}

/** The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another user. */
export class PermissionDenied extends ContextKeepError {
  static override readonly code: StatusCode = "PERMISSION_DENIED";
  static override readonly reason: string = "PERMISSION_DENIED";
}

/** An extension that the operator installed refused this pack; the message says why. */
export class PackVetoed extends PermissionDenied {
  static override readonly reason: string = "PACK_VETOED";
}

/** The policy of the agent, or of its template, does not allow this provider or family. */
export class ProviderNotAllowed extends PermissionDenied {
  static override readonly reason: string = "PROVIDER_NOT_ALLOWED";
}

/** The service, or a dependency of it, does not answer. */
export class Unavailable extends ContextKeepError {
  static override readonly code: StatusCode = "UNAVAILABLE";
  static override readonly reason: string = "UNAVAILABLE";
}

/** All database connections of the process are busy. */
export class Overloaded extends Unavailable {
  static override readonly reason: string = "OVERLOADED";
}

/** The tenant is moving to another database, or this process does not know yet that it moved. Nothing was done. */
export class TenantMoving extends Unavailable {
  static override readonly reason: string = "TENANT_MOVING";
}

/** The database lacks a migration that this version of the service needs. Nothing was done. */
export class SchemaBehind extends Unavailable {
  static override readonly reason: string = "SCHEMA_BEHIND";
}

/** The list of changes waits for a transaction that began before it, of any tenant. */
export class ChangesHeldUp extends Unavailable {
  static override readonly reason: string = "CHANGES_HELD_UP";
}

/** The call did not finish within its deadline. A write may have happened. */
export class DeadlineExceeded extends ContextKeepError {
  static override readonly code: StatusCode = "DEADLINE_EXCEEDED";
  static override readonly reason: string = "DEADLINE_EXCEEDED";
}

/** The caller of a stream neither sent nor read anything for too long, and the server ended it. */
export class StreamIdle extends DeadlineExceeded {
  static override readonly reason: string = "STREAM_IDLE";
}

/** The caller cancelled the call, or closed its connection. A write may have happened. */
export class Cancelled extends ContextKeepError {
  static override readonly code: StatusCode = "CANCELLED";
  static override readonly reason: string = "CANCELLED";
}

/** Stored data is not what was written. */
export class DataLoss extends ContextKeepError {
  static override readonly code: StatusCode = "DATA_LOSS";
  static override readonly reason: string = "DATA_LOSS";
}

/** Stored bytes are missing or do not match their checksum. */
export class BlobCorrupted extends DataLoss {
  static override readonly reason: string = "BLOB_CORRUPTED";
}

/** The server does not have this RPC, or not over this protocol. */
export class Unimplemented extends ContextKeepError {
  static override readonly code: StatusCode = "UNIMPLEMENTED";
  static override readonly reason: string = "UNIMPLEMENTED";
}

/** The server has a fault. */
export class Internal extends ContextKeepError {
  static override readonly code: StatusCode = "INTERNAL";
  static override readonly reason: string = "INTERNAL";
}
