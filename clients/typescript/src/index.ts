/** The TypeScript client of Context Service. */

export type {
  AdministrativeCall,
  ApiKey,
  BackgroundWork,
  Caller,
  CreatedKey,
  Job,
  Tenant,
  TenantLimits,
  Usage,
} from "./administration.js";
export type { CallOptions, ClientOptions } from "./client.js";
export { ContextClient } from "./context.js";
export type {
  ArchivePart,
  ArchiveScope,
  ContextClientOptions,
  ContextFilter,
  ContextOptions,
  HistoryOptions,
  ImportedArchive,
  KeyFields,
  KnowledgeBaseFields,
  McpApproval,
  McpServerFields,
  MemoryFields,
  MemoryFilter,
  NewDocument,
  NewUpload,
  PageName,
  PutPageOptions,
  QueryOptions,
  ReadOptions,
  RecordFilter,
  RetainOptions,
  SendOptions,
  SpecialistFields,
  TaskOptions,
  UploadOptions,
  WindowOptions,
} from "./context.js";
export type {
  ByMeaning,
  Context,
  ContextChanges,
  ContextHistory,
  ContextIndex,
  ContextInput,
  ContextKey,
  Erasure,
  ExternalId,
  LeftOutMessage,
  MessageInput,
  PartInput,
  RecallFilter,
  RecallOptions,
  Recalled,
  RecalledItem,
  SentMessage,
  UnreadRecord,
  SyncedHistory,
} from "./contexts.js";
export type {
  CompileProgress,
  CompiledPage,
  Definition,
  DefinitionRules,
  Facet,
  FacetKind,
  FacetRules,
  FacetSource,
  FacetWalk,
  RuleProblem,
  TriedDefinition,
} from "./definitions.js";
export { EntityClient } from "./entity.js";
export type * from "./entity.js";
export type { ErasurePlan, Hold, OwnedNodes, SubjectErasure } from "./erasures.js";
export { ContextKeepError } from "./error.js";
export type { ErrorDetails, FieldViolation, StatusCode } from "./error.js";
export * from "./gen/errors.js";
export type { ExportOptions, ExportPage, ImportOptions, ImportedGraph, RowCount } from "./graphs.js";
export type {
  AssembledNode,
  ChatHistory,
  ChatMessage,
  Evaluation,
  FormattedHistory,
  GivenMessage,
  HistoryEvent,
  Mapping,
  MappingInput,
  MappingRules,
  MessageFormat,
  MessageRule,
  NodeTrial,
  Part,
  Reasoning,
  SampleNode,
  SkippedRule,
} from "./history.js";
export { newId } from "./ids.js";
export { parseJson, toJson } from "./json.js";
export type { JsonObject } from "./json.js";
export type { BedrockBase, Document, DocumentState, KnowledgeBase } from "./knowledge-bases.js";
export { MappingRegistry } from "./mappings.js";
export type { RecentCalls, RecentMinute } from "./observing.js";
export type { McpServer, McpTool } from "./mcp-servers.js";
export type { ClaimedAuthor, Imported } from "./imported.js";
export type { Consolidation, Experience, Memory, MemoryKind, MemorySource, RecalledMemory, Reflection } from "./memories.js";
export { MemoryType } from "./records.js";
export type {
  BlobEntry,
  BlobName,
  InlineContent,
  ManifestEntity,
  ManifestGroup,
  RecordAction,
  RecordFields,
  SearchHit,
  Upload,
  WMRecord,
} from "./records.js";
export type { Agent, AgentCallers, AgentTemplate, ProviderNames } from "./agents.js";
export type {
  AnsweredProvider,
  ComparedTests,
  ContextProvider,
  ExpandedRef,
  ExplainedHit,
  HitSource,
  ProviderPolicy,
  ProviderSetting,
  ProviderStatus,
  QueriedContext,
  QueryEvent,
  QueryHit,
  QueryPolicy,
  SourceTest,
} from "./query.js";
export type { ResumeOptions } from "./resumable.js";
export type { NodeName } from "./names.js";
export { Rows } from "./rows.js";
export type { Specialist } from "./specialists.js";
export type { Artifact, ArtifactInput, ContextEvent, RetractedMessages, StatusInput, Task, TaskHistory, TaskState } from "./tasks.js";
export type { Resource, Tool } from "./tools.js";
export { BlobReader } from "./transfer.js";
export type { ByteStream, OnProgress } from "./transfer.js";
export type { PageSource, PageVersion, WikiPage } from "./wiki.js";
export type {
  Billed,
  CacheBreakpoint,
  Calibrated,
  Checkpoint,
  CompressionProfile,
  CostEstimate,
  FoldReceipt,
  Forked,
  LearnedCount,
  LearnedProfile,
  Learning,
  LevelStats,
  Merged,
  Original,
  Outcome,
  Pack,
  PackCost,
  PackPart,
  PackZones,
  Recovered,
  RolledBack,
  StateChange,
  StateEntry,
  StateEntryInput,
  Window,
  WindowConfig,
  WindowEvent,
  WindowFork,
  WindowHit,
  WindowStats,
  WindowUsage,
} from "./windows.js";
