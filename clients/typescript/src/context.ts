/** Working memory, contexts and chat history. An RPC is one method, in the module of its noun. */

import { TransferCalls } from "./context/transfer.js";

export type { ContextClientOptions } from "./context/app.js";
export type { ReadOptions, UploadOptions } from "./context/blobs.js";
export type { ContextFilter, ContextOptions, SendOptions } from "./context/contexts.js";
export type { FacetFields } from "./context/definitions.js";
export type { HistoryOptions } from "./context/history.js";
export type { NewDocument } from "./context/knowledge-bases.js";
export type { MemoryFields, MemoryFilter, RetainOptions } from "./context/memories.js";
export type { QueryOptions } from "./context/query.js";
export type { RecordFilter } from "./context/records.js";
export type { TaskOptions } from "./context/tasks.js";
export type { ArchivePart, ArchiveScope, ImportedArchive } from "./context/transfer.js";
export type { NewUpload } from "./context/uploads.js";
export type { PageName, PutPageOptions } from "./context/wiki.js";
export type { WindowOptions } from "./context/windows.js";

/** A class has one parent, so the calls of each noun extend those of another; the order means nothing. */
export class ContextClient extends TransferCalls {}
