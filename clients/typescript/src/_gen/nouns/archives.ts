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
   * Export a tenant, a context with its forks, a user or a graph as the bytes of one archive. An export that broke off
   * can continue after a message with a `resumeToken`: keep all bytes up to that message, and call again with the
   * token.
   *
   * All data that was acknowledged before the export began is in the archive. Data that is written during the export
   * may be in it. A context with up to 16 MiB of rows is exported as it was at one moment. A larger context is read in
   * pages; its messages end where the context ended when the first page was read. No transaction waits for a slow
   * reader.
   *
   * The archive does not contain keys, sealed secrets, limits of the tenant, answers to repeated calls, pending
   * background work, compiled pages (compile them again), unfinished uploads and receipts. It lists these omissions.
   *
   * Throws ContextNotFound, PermissionDenied (also: the key is bound), InvalidPageToken (`resumeToken`),
   * BlobCorrupted, InvalidArgument, Aborted (a window of more than 16 MiB changed while it was read; continue from
   * the token).
   *
   * @param options.resumeToken The token of the last message that had one. Empty means from the start.
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
   * Read the progress of an import, and its conflicts. The service keeps this for 30 days. It gives up an import that
   * did not continue for 7 days, and removes the rows of an unfinished context. Throws ImportNotFound (NotFound),
   * PermissionDenied, InvalidArgument.
   */
  async getImport(importId: string, options: CallOptions = {}): Promise<ImportedArchive> {
    const request = {
      importId,
    };
    const answer = await this.client.call(transferPb.Transfer.method.getImport, request, options);
    return importedArchiveOf(answer.imported!);
  }
}
