// Made from the protos by `make proto`.

import * as transferPb from "../../gen/contextkeep/context/v1/transfer_pb.js";
import { type ArchiveScope, scopeInput } from "../../archives.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { Noun } from "../../noun.js";
import { type ArchivePart, type ImportedArchive, archivePartOf, importedArchiveOf } from "../transfer.js";

/** The calls of `archives` that are one method each. */
export class GeneratedArchives extends Noun<AppClient> {
  /**
   * Reads a tenant, a context with those forked from it, a user or a graph out, as the bytes of one archive. A message with a `resumeToken` ends where an
   * export that broke off can go on: keep all bytes up to there, and ask again with the token. What was acknowledged before the export began is in
   * it; of what is written meanwhile some may be. A context of up to 16 MiB of rows is as it was at one moment; a larger one is read in pages, its messages
   * up to where it was when its first page was read. No transaction waits for a slow reader.
   *
   * Not exported: keys and sealed secrets, limits of the tenant, answers to repeated calls, what is owed, compiled pages (compile them anew), unfinished
   * uploads, receipts. The archive says so itself.
   *
   * Throws ContextNotFound, PermissionDenied (also: the key is bound), InvalidPageToken (`resumeToken`), BlobCorrupted, InvalidArgument,
   * Aborted (a window of more than 16 MiB changed while it was read; go on from the token).
   *
   * @param options.resumeToken Of the last message that had one. Empty: from the start.
   */
  async *export(
    scope: ArchiveScope,
    options: { resumeToken?: string } & CallOptions = {},
  ): AsyncGenerator<ArchivePart> {
    const request = {
      scope: scopeInput(scope, "scope"),
      resumeToken: options.resumeToken,
    };
    for await (const answer of this.client.stream(transferPb.Transfer.method.exportArchive, request, options, false)) {
      yield archivePartOf(answer);
    }
  }

  /**
   * Says how far an import is, and what it met. They are kept for 30 days; one that nobody goes on with for 7 days is given up, and what it wrote of an
   * unfinished context is removed. Throws ImportNotFound (NotFound), PermissionDenied, InvalidArgument.
   */
  async getImport(importId: string, options: CallOptions = {}): Promise<ImportedArchive> {
    const request = {
      importId,
    };
    const answer = await this.client.call(transferPb.Transfer.method.getImport, request, options);
    return importedArchiveOf(answer.imported!);
  }
}
