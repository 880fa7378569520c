// Made from contextkeep/errors.py by `make proto`: the same classes, codes and reasons.

import { ContextKeepError, type StatusCode } from "../error.js";

/** A field is malformed; `violations` name it. */
export class InvalidArgument extends ContextKeepError {
  static override readonly code: StatusCode = "INVALID_ARGUMENT";
  static override readonly reason: string = "INVALID_ARGUMENT";
}

/** The page token is malformed, or belongs to another query. */
export class InvalidPageToken extends InvalidArgument {
  static override readonly reason: string = "INVALID_PAGE_TOKEN";
}

/** The bytes of an upload are not as many as its header declared. Nothing was stored. */
export class SizeMismatch extends InvalidArgument {
  static override readonly reason: string = "SIZE_MISMATCH";
}

/** The bytes of an upload do not have the sha256 that its header declared. Nothing was stored. */
export class ChecksumMismatch extends InvalidArgument {
  static override readonly reason: string = "CHECKSUM_MISMATCH";
}

/** An archive is malformed or damaged, or has what cannot be stored: `piece` in the metadata. Those before are. */
export class ArchiveRefused extends InvalidArgument {
  static override readonly reason: string = "ARCHIVE_REFUSED";
}

/** What the call is about belongs to users: `subject_user_id` must name one, unless the key has a user. */
export class SubjectRequired extends InvalidArgument {
  static override readonly reason: string = "SUBJECT_REQUIRED";
}

/** There is no such thing, or it is not the caller's: the two are not told apart. */
export class NotFound extends ContextKeepError {
  static override readonly code: StatusCode = "NOT_FOUND";
  static override readonly reason: string = "NOT_FOUND";
}

/** No node has this id, external id or name. */
export class NodeNotFound extends NotFound {
  static override readonly reason: string = "NODE_NOT_FOUND";
}

/** No edge has this id. */
export class EdgeNotFound extends NotFound {
  static override readonly reason: string = "EDGE_NOT_FOUND";
}

/** The node has no embedding of this name. */
export class EmbeddingNotFound extends NotFound {
  static override readonly reason: string = "EMBEDDING_NOT_FOUND";
}

/** No working memory record has this id. */
export class RecordNotFound extends NotFound {
  static override readonly reason: string = "RECORD_NOT_FOUND";
}

/** No blob has this key. */
export class BlobNotFound extends NotFound {
  static override readonly reason: string = "BLOB_NOT_FOUND";
}

/** No resumable upload has this id: it never was, was given up, or was finished more than a day ago. */
export class UploadNotFound extends NotFound {
  static override readonly reason: string = "UPLOAD_NOT_FOUND";
}

/** No mapping has this name where it was looked up; `apps` in the metadata names where it is. */
export class MappingNotFound extends NotFound {
  static override readonly reason: string = "MAPPING_NOT_FOUND";
}

/** No tool has this name. */
export class ToolNotFound extends NotFound {
  static override readonly reason: string = "TOOL_NOT_FOUND";
}

/** There is no context with this id that the caller may see. */
export class ContextNotFound extends NotFound {
  static override readonly reason: string = "CONTEXT_NOT_FOUND";
}

/** There is no erasure with this id that the caller may see; a receipt of a context is kept for a year. */
export class ErasureNotFound extends NotFound {
  static override readonly reason: string = "ERASURE_NOT_FOUND";
}

/** There is no hold with this id: it never was, or was released. */
export class HoldNotFound extends NotFound {
  static override readonly reason: string = "HOLD_NOT_FOUND";
}

/** There is no test of sources with this id, or not any more. */
export class SourceTestNotFound extends NotFound {
  static override readonly reason: string = "SOURCE_TEST_NOT_FOUND";
}

/** There is no memory with this id that the caller may see, or it was forgotten. */
export class MemoryNotFound extends NotFound {
  static override readonly reason: string = "MEMORY_NOT_FOUND";
}

/** There is no page of this id or name that the caller may see, or it has not this version, or not any more. */
export class PageNotFound extends NotFound {
  static override readonly reason: string = "PAGE_NOT_FOUND";
}

/** The context has no message with this id, or it is retracted. */
export class MessageNotFound extends NotFound {
  static override readonly reason: string = "MESSAGE_NOT_FOUND";
}

/** The context has no task with this id. */
export class TaskNotFound extends NotFound {
  static override readonly reason: string = "TASK_NOT_FOUND";
}

/** The task has no artifact with this id, or not this version of it. */
export class ArtifactNotFound extends NotFound {
  static override readonly reason: string = "ARTIFACT_NOT_FOUND";
}

/** There is no window with this id that the caller may see, or its context is gone. */
export class WindowNotFound extends NotFound {
  static override readonly reason: string = "WINDOW_NOT_FOUND";
}

/** The window has no such pin: it was removed, or what it was of was retracted. */
export class PinNotFound extends NotFound {
  static override readonly reason: string = "PIN_NOT_FOUND";
}

/** The window has no such checkpoint, or no longer. */
export class CheckpointNotFound extends NotFound {
  static override readonly reason: string = "CHECKPOINT_NOT_FOUND";
}

/** The context has nothing that this ref names: see ExpandRequest for their forms. */
export class RefNotFound extends NotFound {
  static override readonly reason: string = "REF_NOT_FOUND";
}

/** There is no agent with this id that the caller may ask for. */
export class AgentNotFound extends NotFound {
  static override readonly reason: string = "AGENT_NOT_FOUND";
}

/** There is no template of agents with this id. */
export class AgentTemplateNotFound extends NotFound {
  static override readonly reason: string = "AGENT_TEMPLATE_NOT_FOUND";
}

/** There is no knowledge base with this name that the caller may see. */
export class KnowledgeBaseNotFound extends NotFound {
  static override readonly reason: string = "KNOWLEDGE_BASE_NOT_FOUND";
}

/** There is no document with this id in the knowledge base. */
export class DocumentNotFound extends NotFound {
  static override readonly reason: string = "DOCUMENT_NOT_FOUND";
}

/** There is no such definition that the caller may see, or not this version of it, or none is approved. */
export class DefinitionNotFound extends NotFound {
  static override readonly reason: string = "DEFINITION_NOT_FOUND";
}

/** There is no such page that the caller may see, or its definition is not approved any more. */
export class CompiledPageNotFound extends NotFound {
  static override readonly reason: string = "COMPILED_PAGE_NOT_FOUND";
}

/** No key that is a part of the caller's begins like this. */
export class KeyNotFound extends NotFound {
  static override readonly reason: string = "KEY_NOT_FOUND";
}

/** There is no tenant of this name. */
export class TenantNotFound extends NotFound {
  static override readonly reason: string = "TENANT_NOT_FOUND";
}

/** No operator of the tenant started a job with this id. */
export class JobNotFound extends NotFound {
  static override readonly reason: string = "JOB_NOT_FOUND";
}

/** No import of your tenant has the id, or it was too long ago. */
export class ImportNotFound extends NotFound {
  static override readonly reason: string = "IMPORT_NOT_FOUND";
}

/** There is no MCP server with this id. */
export class McpServerNotFound extends NotFound {
  static override readonly reason: string = "MCP_SERVER_NOT_FOUND";
}

/** The MCP server has no tool of this name, or has it no more. */
export class McpToolNotFound extends NotFound {
  static override readonly reason: string = "MCP_TOOL_NOT_FOUND";
}

/** There is no specialist with this id. */
export class SpecialistNotFound extends NotFound {
  static override readonly reason: string = "SPECIALIST_NOT_FOUND";
}

/** What a ref names was retracted, or what a repeated write was about is erased: nobody can read it any more. */
export class Erased extends NotFound {
  static override readonly reason: string = "ERASED";
}

/** Something has this name or id already. */
export class AlreadyExists extends ContextKeepError {
  static override readonly code: StatusCode = "ALREADY_EXISTS";
  static override readonly reason: string = "ALREADY_EXISTS";
}

/** The id of a new node is taken. */
export class NodeExists extends AlreadyExists {
  static override readonly reason: string = "NODE_EXISTS";
}

/** The external id belongs to a node already: `node_id` in the metadata. */
export class ExternalIdTaken extends AlreadyExists {
  static override readonly reason: string = "EXTERNAL_ID_TAKEN";
}

/** There is an edge of that type between the two nodes, or of that id: `edge_id` in the metadata. */
export class EdgeExists extends AlreadyExists {
  static override readonly reason: string = "EDGE_EXISTS";
}

/** The id of a new working memory record is taken. */
export class RecordExists extends AlreadyExists {
  static override readonly reason: string = "RECORD_EXISTS";
}

/** The request id was used before, with other content or for another RPC. */
export class RequestIdReused extends AlreadyExists {
  static override readonly reason: string = "REQUEST_ID_REUSED";
}

/** The upload is past the offset of this part: `offset_bytes` in the metadata is where the next one begins. */
export class UploadPartExists extends AlreadyExists {
  static override readonly reason: string = "UPLOAD_PART_EXISTS";
}

/** The mapping name has other rules; `replace` or a higher `rules_version` changes them. */
export class MappingExists extends AlreadyExists {
  static override readonly reason: string = "MAPPING_EXISTS";
}

/** A slug or an alias leads to another page: its `slug` in the metadata. */
export class PageNameTaken extends AlreadyExists {
  static override readonly reason: string = "PAGE_NAME_TAKEN";
}

/** The id is that of another message of the context. */
export class MessageExists extends AlreadyExists {
  static override readonly reason: string = "MESSAGE_EXISTS";
}

/** Somebody else was faster; read again and decide anew. */
export class Aborted extends ContextKeepError {
  static override readonly code: StatusCode = "ABORTED";
  static override readonly reason: string = "ABORTED";
}

/** `expected_version` is not the current version: `version` in the metadata. */
export class VersionConflict extends Aborted {
  static override readonly reason: string = "VERSION_CONFLICT";
}

/** `expected_status` is not the current status: `status` in the metadata. */
export class StatusConflict extends Aborted {
  static override readonly reason: string = "STATUS_CONFLICT";
}

/** The upload was silent for so long that it was given up. Nothing was stored. */
export class UploadExpired extends Aborted {
  static override readonly reason: string = "UPLOAD_EXPIRED";
}

/** A window has more of its log to read than the call had time for. What it read stays: call again. */
export class WindowBehind extends Aborted {
  static override readonly reason: string = "WINDOW_BEHIND";
}

/** The window has another epoch than was expected, or than its fold was prepared for: `epoch` in the metadata. */
export class FoldStale extends Aborted {
  static override readonly reason: string = "FOLD_STALE";
}

/** Another compile of keys with the same bounds is under way. What this one has stored stays. */
export class CompileUnderWay extends Aborted {
  static override readonly reason: string = "COMPILE_UNDER_WAY";
}

/** The log has messages behind the one that the caller knows as its last. Nothing was done. */
export class LogMoved extends Aborted {
  static override readonly reason: string = "LOG_MOVED";
}

/** The import is at another byte of the archive than the call begins with: `offset_bytes` in the metadata. */
export class ImportMoved extends Aborted {
  static override readonly reason: string = "IMPORT_MOVED";
}

/** The state forbids it, and trying again does not help. */
export class FailedPrecondition extends ContextKeepError {
  static override readonly code: StatusCode = "FAILED_PRECONDITION";
  static override readonly reason: string = "FAILED_PRECONDITION";
}

/** A hold forbids to erase this; `hold_ids` names it. */
export class LegalHold extends FailedPrecondition {
  static override readonly reason: string = "LEGAL_HOLD";
}

/** A job of this kind runs: it is named. */
export class JobRunning extends FailedPrecondition {
  static override readonly reason: string = "JOB_RUNNING";
}

/** The service has no key to store secrets by: its operator sets SECRETS_KEY. */
export class SecretsKeyMissing extends FailedPrecondition {
  static override readonly reason: string = "SECRETS_KEY_MISSING";
}

/** The key that a secret was stored by is none of the service's any more: say the secret again. */
export class SecretUnreadable extends FailedPrecondition {
  static override readonly reason: string = "SECRET_UNREADABLE";
}

/** Nothing is sent to this address: it is no public one, and the operator does not list it. */
export class AddressRefused extends FailedPrecondition {
  static override readonly reason: string = "ADDRESS_REFUSED";
}

/** The knowledge base of another service cannot be asked, as that answers now; the message says what is wrong. */
export class KnowledgeBaseFailed extends FailedPrecondition {
  static override readonly reason: string = "KNOWLEDGE_BASE_FAILED";
}

/** The MCP server cannot be asked, as it answers now; the message says what is wrong with it. */
export class McpServerFailed extends FailedPrecondition {
  static override readonly reason: string = "MCP_SERVER_FAILED";
}

/** The MCP tool does not declare that it is read-only, or nobody that searching with it does no harm. */
export class McpToolNotDeclared extends FailedPrecondition {
  static override readonly reason: string = "MCP_TOOL_NOT_DECLARED";
}

/** The definition of the MCP tool is another one than the one that was read. */
export class McpToolChanged extends FailedPrecondition {
  static override readonly reason: string = "MCP_TOOL_CHANGED";
}

/** Agents have the template: put them without it first. */
export class AgentTemplateInUse extends FailedPrecondition {
  static override readonly reason: string = "AGENT_TEMPLATE_IN_USE";
}

/** The record is archived; read it with `include_archived`. */
export class RecordArchived extends FailedPrecondition {
  static override readonly reason: string = "RECORD_ARCHIVED";
}

/** The record's content is a blob; it has no inline content. */
export class RecordHasBlob extends FailedPrecondition {
  static override readonly reason: string = "RECORD_HAS_BLOB";
}

/** The record has no blob; its content, if any, is inline JSON. */
export class RecordHasNoBlob extends FailedPrecondition {
  static override readonly reason: string = "RECORD_HAS_NO_BLOB";
}

/** The blob lives with a provider that this deployment is not configured for: `provider` in the metadata. */
export class ProviderNotConfigured extends FailedPrecondition {
  static override readonly reason: string = "PROVIDER_NOT_CONFIGURED";
}

/** The provider of the blob, or its credentials, can sign no URL; use GetBlob. */
export class NoDownloadUrl extends FailedPrecondition {
  static override readonly reason: string = "NO_DOWNLOAD_URL";
}

/** A rule failed on a node of a strict call: `node_id` and `rule` in the metadata. */
export class MappingFailed extends FailedPrecondition {
  static override readonly reason: string = "MAPPING_FAILED";
}

/** A registered mapping no longer compiles; register it again. */
export class MappingBroken extends FailedPrecondition {
  static override readonly reason: string = "MAPPING_BROKEN";
}

/** The mapping is built in: it cannot be removed. */
export class MappingBuiltIn extends FailedPrecondition {
  static override readonly reason: string = "MAPPING_BUILT_IN";
}

/** Memories changed since the dry run: another one says what would be done now. */
export class PlanOutdated extends FailedPrecondition {
  static override readonly reason: string = "PLAN_OUTDATED";
}

/** The context takes no more messages. */
export class ContextClosed extends FailedPrecondition {
  static override readonly reason: string = "CONTEXT_CLOSED";
}

/** The window packs no more: open another one on its context. */
export class WindowClosed extends FailedPrecondition {
  static override readonly reason: string = "WINDOW_CLOSED";
}

/** The task has ended: `state` in the metadata. What goes on with it is a new task of the same context. */
export class TaskEnded extends FailedPrecondition {
  static override readonly reason: string = "TASK_ENDED";
}

/** The last chunk of this version came: what is put without `append` is the next one. */
export class ArtifactComplete extends FailedPrecondition {
  static override readonly reason: string = "ARTIFACT_COMPLETE";
}

/** The tenant's changes are not kept: `StartChanges` was not called, or has not answered yet. */
export class ChangesNotStarted extends FailedPrecondition {
  static override readonly reason: string = "CHANGES_NOT_STARTED";
}

/** There is nothing to fold: what a window shows is folded as far as it can be. */
export class FoldNoProgress extends FailedPrecondition {
  static override readonly reason: string = "FOLD_NO_PROGRESS";
}

/** No fold of the window was prepared since it has its config. */
export class FoldNotPrepared extends FailedPrecondition {
  static override readonly reason: string = "FOLD_NOT_PREPARED";
}

/** A position lies past the end. */
export class OutOfRange extends ContextKeepError {
  static override readonly code: StatusCode = "OUT_OF_RANGE";
  static override readonly reason: string = "OUT_OF_RANGE";
}

/** The byte range starts past the end of the blob: `size_bytes` in the metadata. */
export class RangePastEnd extends OutOfRange {
  static override readonly reason: string = "RANGE_PAST_END";
}

/** Changes after the place are forgotten, or the database was restored. Take a new place, then read everything. */
export class ChangesExpired extends OutOfRange {
  static override readonly reason: string = "CHANGES_EXPIRED";
}

/** The upload is not at the offset of this part yet: `offset_bytes` in the metadata is where the next one begins. */
export class UploadGap extends OutOfRange {
  static override readonly reason: string = "UPLOAD_GAP";
}

/** A limit of size, count, depth, cost or rate was passed: `limit`, `limit_max` and `value` in the metadata. */
export class ResourceExhausted extends ContextKeepError {
  static override readonly code: StatusCode = "RESOURCE_EXHAUSTED";
  static override readonly reason: string = "RESOURCE_EXHAUSTED";
}

/** A value is over a limit: `limit` (its name), `limit_max` and `value` in the metadata. */
export class LimitExceeded extends ResourceExhausted {
  static override readonly reason: string = "LIMIT_EXCEEDED";
}

/** The upload passed the size limit. Nothing was stored. */
export class BlobTooLarge extends ResourceExhausted {
  static override readonly reason: string = "BLOB_TOO_LARGE";
}

/** The answer does not fit one message: `use` in the metadata names the RPC that streams it. */
export class AnswerTooLarge extends ResourceExhausted {
  static override readonly reason: string = "ANSWER_TOO_LARGE";
}

/** There are too many vectors to compare with: `filters` in the metadata names what to add. */
export class SliceTooLarge extends ResourceExhausted {
  static override readonly reason: string = "SLICE_TOO_LARGE";
}

/** The walk would visit more nodes than `node_budget`. */
export class NodeBudgetExceeded extends ResourceExhausted {
  static override readonly reason: string = "NODE_BUDGET_EXCEEDED";
}

/** The expressions of a mapping cost more than a call may spend. */
export class CostExceeded extends ResourceExhausted {
  static override readonly reason: string = "COST_EXCEEDED";
}

/** A window's limit has no room for what a pack must have: `least` and `token_limit` in the metadata. */
export class BudgetTooSmall extends ResourceExhausted {
  static override readonly reason: string = "BUDGET_TOO_SMALL";
}

/** The packs of a window would have more tokens together than they may. */
export class TokensSpent extends ResourceExhausted {
  static override readonly reason: string = "TOKENS_SPENT";
}

/** The disk, the bucket or the database has no room left. */
export class StorageFull extends ResourceExhausted {
  static override readonly reason: string = "STORAGE_FULL";
}

/** The process answers as many calls as it may, or of the tenant or the key: `limit` in the metadata says of whom. */
export class TooManyCalls extends ResourceExhausted {
  static override readonly reason: string = "TOO_MANY_CALLS";
}

/** The process would hold more bytes for its callers than it may: `limit` in the metadata says for whom. */
export class HeldBytesExceeded extends ResourceExhausted {
  static override readonly reason: string = "HELD_BYTES_EXCEEDED";
}

/** The key, or the whole tenant, calls more often than it may; `retry_after_s` says when it may again. */
export class RateLimited extends ResourceExhausted {
  static override readonly reason: string = "RATE_LIMITED";
}

/** No valid key or token came with the call. */
export class Unauthenticated extends ContextKeepError {
  static override readonly code: StatusCode = "UNAUTHENTICATED";
  static override readonly reason: string = "UNAUTHENTICATED";
}

/** The key lacks the scope (`scope` in the metadata), is bound to something else, or is another user's. */
export class PermissionDenied extends ContextKeepError {
  static override readonly code: StatusCode = "PERMISSION_DENIED";
  static override readonly reason: string = "PERMISSION_DENIED";
}

/** What the operator of the service installed to decide on packs refuses this one. Its message says why. */
export class PackVetoed extends PermissionDenied {
  static override readonly reason: string = "PACK_VETOED";
}

/** The policy of the agent, or of its template, has not the provider or family that is named: `provider`. */
export class ProviderNotAllowed extends PermissionDenied {
  static override readonly reason: string = "PROVIDER_NOT_ALLOWED";
}

/** A dependency, or the service itself, does not answer: `dependency` in the metadata. Try again. */
export class Unavailable extends ContextKeepError {
  static override readonly code: StatusCode = "UNAVAILABLE";
  static override readonly reason: string = "UNAVAILABLE";
}

/** All database connections are busy; `retry_after_s` says when to try again. */
export class Overloaded extends Unavailable {
  static override readonly reason: string = "OVERLOADED";
}

/** The list of changes waits for a transaction that began before it; `oldest_transaction_s` says how old it is. */
export class ChangesHeldUp extends Unavailable {
  static override readonly reason: string = "CHANGES_HELD_UP";
}

/** The call's time was up. */
export class DeadlineExceeded extends ContextKeepError {
  static override readonly code: StatusCode = "DEADLINE_EXCEEDED";
  static override readonly reason: string = "DEADLINE_EXCEEDED";
}

/** The caller of a stream neither sent nor read for `stream_idle_s`, and the server ended it. */
export class StreamIdle extends DeadlineExceeded {
  static override readonly reason: string = "STREAM_IDLE";
}

/** The call was cancelled. */
export class Cancelled extends ContextKeepError {
  static override readonly code: StatusCode = "CANCELLED";
  static override readonly reason: string = "CANCELLED";
}

/** Stored data is not what was written. */
export class DataLoss extends ContextKeepError {
  static override readonly code: StatusCode = "DATA_LOSS";
  static override readonly reason: string = "DATA_LOSS";
}

/** Stored bytes do not match their checksum. What came before is to be thrown away. */
export class BlobCorrupted extends DataLoss {
  static override readonly reason: string = "BLOB_CORRUPTED";
}

/** The server does not know this RPC. */
export class Unimplemented extends ContextKeepError {
  static override readonly code: StatusCode = "UNIMPLEMENTED";
  static override readonly reason: string = "UNIMPLEMENTED";
}

/** A fault of the server; `call_id` in the metadata finds its cause in the log. */
export class Internal extends ContextKeepError {
  static override readonly code: StatusCode = "INTERNAL";
  static override readonly reason: string = "INTERNAL";
}
