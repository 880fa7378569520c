/** The client of the Context Service: working memory, contexts, chat history. An RPC is one method, of its noun. */

import { ContextNouns } from "./_gen/context-nouns.js";

export type { ContextClientOptions, ContextOptions } from "./context/app.js";
export type { ArchivePart, ArchiveScope, ImportedArchive } from "./context/archives.js";
export type { ReadOptions, UploadOptions, UploadSource } from "./context/blobs.js";
export type { FacetFields } from "./context/compiled-pages.js";
export type { ContextFilter, SendOptions } from "./context/contexts.js";
export type { HistoryOptions } from "./context/history.js";
export type { NewDocument } from "./context/knowledge-bases.js";
export type { MemoryFields, MemoryFilter, RetainOptions } from "./context/memories.js";
export type { PageName, PutPageOptions } from "./context/pages.js";
export type { QueryOptions } from "./context/query.js";
export type { RecordFilter } from "./context/records.js";
export type { TaskOptions } from "./context/tasks.js";
export type { NewUpload } from "./context/uploads.js";
export type { WindowOptions } from "./context/windows.js";

export class ContextClient extends ContextNouns {}
