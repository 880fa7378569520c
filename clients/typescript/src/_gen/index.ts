// All values; made from the protos by `make proto`.

export type * from "./options.js";
export type { AdministrativeCall, ApiKey, BackgroundWork, Caller, CreatedKey, Job, PendingWork, RetriedWork, Tenant, TenantLimits, Usage } from "./administration.js";
export type { Agent, AgentCallers, ProviderNames } from "./agents.js";
export type { AgentTemplate } from "./agent-templates.js";
export type { AnsweredProvider, ContextProvider, ExpandedRef, ExplainedHit, HitSource, LastTest, ProviderHits, ProviderPolicy, ProviderStatus, QueriedContext, QueryAnswer, QueryEvent, QueryHit, QueryPolicy, WorkspaceTarget } from "./context-query.js";
export type { AppendedEnvelope, Change, ChangePage, Edge, EdgeTypeCount, Embedding, Envelope, ExportPage, FacetAnswer, FacetGroup, FacetList, FacetValue, FoundEdges, FoundNodes, GraphCount, NamedNode, Node, NodeField, NodeIO, OwnedNodes, ReachedBy, RowCount, SimilarNode, StoredIO, TraversedNode, TypeFacets, WrittenGraph, WrittenRow } from "./entity-graph.js";
export type { AppliedSettings, ContextSetting } from "./context-settings.js";
export type { ArchivePart, ImportConflict, ImportedArchive, ImportedRows } from "./transfer.js";
export type { Artifact } from "./artifacts.js";
export type { AssembledNode, BodyFile, Evaluation, FormattedHistory, GivenMessage, HistoryEvent, Mapping, NodeTrial, SkippedRule } from "./chat-history.js";
export type { BedrockBase, Document, KnowledgeBase } from "./knowledge-bases.js";
export type { BlobEntry, DownloadUrl, ManifestEntity, ManifestGroup, QueriedRows, RecordAction, SearchHit, Upload, WMRecord } from "./working-memory.js";
export type { ByMeaning, Context, ContextEvent, ContextHistory, ContextIndex, ContextKey, Erasure, ExternalId, FoundContext, FoundContexts, LeftOutMessage, Recalled, RecalledItem, RetractedMessages, StoredMessage, SyncedHistory, UnreadRecord } from "./contexts.js";
export type { CacheBreakpoint, Calibrated, Checkpoint, CompressionProfile, CostEstimate, ExplainedPack, FoldReceipt, ImportanceWeights, LearnedCount, LearnedProfile, Learning, LevelStats, Merged, MessageTrace, Original, Pack, PackCost, PackOmissions, PackPart, PackSpan, PackZones, RolledBack, ShownLine, StateChange, StateEntry, TierRatios, TokenPrices, TracedBreak, TracedMessage, TracedSentence, Window, WindowConfig, WindowEvent, WindowFork, WindowHit, WindowStats, WindowUsage } from "./context-windows.js";
export type { ChatMessage, ClaimedAuthor, Imported, Reasoning } from "./message.js";
export type { ComparedHit, ComparedProvider, ComparedTests, SourceTest } from "./source-tests.js";
export type { CompileProgress, CompiledPage, Facet, FacetSource, RuleProblem } from "./compiled-pages.js";
export type { Consolidation, Experience, Memory, MemoryRevision, MemorySource, MergedMemories, PromotedLesson, RecalledMemory, Reflection } from "./memories.js";
export type { ContextSummary, UserContext, UserContextLine } from "./summaries.js";
export type { Definition, TriedDefinition } from "./definitions.js";
export type { ErasurePlan, Hold, SubjectErasure } from "./erasures.js";
export type { McpServer, McpTool } from "./mcp-servers.js";
export type { PageSource, PageVersion, WikiPage } from "./pages.js";
export type { RecentCalls, RecentMinute } from "./observing.js";
export type { Resource, Tool } from "./tools.js";
export type { Specialist } from "./specialists.js";
export type { TaskHistory } from "./tasks.js";
