// Made from the protos by `make proto`: what methods take.

export type { AgentFields } from "./nouns/agents.js";
export type { AgentTemplateFields } from "./nouns/agent-templates.js";
export type { AppendOptions, ContextChanges, ContextFilter, ContextsFindOptions, ContextsRecallOptions, ContextsSearchOptions, ContextsSyncHistoryOptions, SendOptions } from "./nouns/contexts.js";
export type { ArtifactInput, ContextInput, EdgeInput, FacetFields, MessageInput, NewDocument, NodeInput, ProviderSelection, QueryOrder, RecallFilter, RecallOptions, SampleNode, StateEntryInput, StateEntryName } from "./inputs.js";
export type { Billed, ForkOptions, WindowChanges, WindowOptions } from "./nouns/windows.js";
export type { ContextSettingsPutOptions } from "./nouns/context-settings.js";
export type { GraphListEdgesOptions, GraphQueryFacetsOptions, NewNode, NewRows } from "./nouns/graph.js";
export type { HistoryAssembleOptions, HistoryFormattedOptions } from "./nouns/history.js";
export type { KeyFields } from "./nouns/keys.js";
export type { KnowledgeBaseFields } from "./nouns/knowledge-bases.js";
export type { ManifestFilter, RecordFilter, RecordsQueryOptions, RecordsSearchOptions } from "./nouns/records.js";
export type { McpApproval, McpServerFields } from "./nouns/mcp-servers.js";
export type { MemoriesRecallOptions, MemoriesReflectOptions, MemoryChanges, MemoryFilter, RetainOptions } from "./nouns/memories.js";
export type { NewEnvelope, ProgressListOptions } from "./nouns/progress.js";
export type { NewTask, TaskChanges, TasksListOptions } from "./nouns/tasks.js";
export type { PagesDeleteOptions, PagesGetOptions, PagesListVersionsOptions, PutPageOptions } from "./nouns/pages.js";
export type { QueryOptions, SettingOptions } from "./nouns/query.js";
export type { SimilarTo } from "./nouns/embeddings.js";
export type { SourceTestsRunOptions } from "./nouns/source-tests.js";
export type { SpecialistFields } from "./nouns/specialists.js";
