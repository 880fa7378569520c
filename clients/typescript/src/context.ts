/** The client of the Context Service: working memory, contexts, chat history. An RPC is one method, of its noun. */

import { ContextNouns } from "./_gen/context-nouns.js";

export type { ContextHandle, WindowHandle } from "./_gen/handles.js";
export type { ArchiveScope } from "./archives.js";
export type { ContextClientOptions, ContextOptions } from "./context/app.js";
export type { ReadOptions, UploadOptions, UploadSource } from "./context/blobs.js";
export type { HistoryOptions, WholeHistoryOptions } from "./context/history.js";
export type { NewUpload } from "./context/uploads.js";
export type { OpenWindow } from "./context/windows.js";

export class ContextClient extends ContextNouns {}
