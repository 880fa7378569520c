/** The TypeScript client of Context Service. */

export type * from "./_gen/index.js";
export type { CallOptions, ClientOptions } from "./client.js";
export { ContextClient } from "./context.js";
export type * from "./context.js";
export type { FileInput, PartInput, SentMessage } from "./contexts.js";
export type { DefinitionRules, FacetKind, FacetRules, FacetWalk } from "./definitions.js";
export { EntityClient } from "./entity.js";
export type * from "./entity.js";
export { ContextKeepError } from "./error.js";
export type { ErrorDetails, FieldViolation, StatusCode } from "./error.js";
export * from "./gen/errors.js";
export type { ExportOptions, ImportOptions, ImportedGraph } from "./graphs.js";
export type {
  ChatHistory,
  MappingRules,
  MessageFormat,
  MessageRule,
  Part,
} from "./history.js";
export { newId } from "./ids.js";
export { parseJson, toJson } from "./json.js";
export type { JsonObject } from "./json.js";
export { MappingRegistry } from "./mappings.js";
export { MemoryType } from "./records.js";
export type { BlobName, InlineContent, NewRecord, RecordFields } from "./records.js";
export type { ProviderSetting } from "./query.js";
export type { ResumeOptions } from "./resumable.js";
export type { NodeName } from "./names.js";
export { Rows } from "./rows.js";
export type { Task, TaskState, WrittenArtifact } from "./tasks.js";
export { BlobReader } from "./transfer.js";
export type { ByteStream, OnProgress } from "./transfer.js";
export { sourcesOf } from "./windows.js";
export type { Forked, Outcome, Recovered, WindowWithForks } from "./windows.js";
