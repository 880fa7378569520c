/** Archives: exports and imports of a tenant, a context, a user or a graph. */

import { create } from "@bufbuild/protobuf";

import { GeneratedArchives } from "../_gen/nouns/archives.js";
import { type ImportedArchive, importedArchiveOf } from "../_gen/transfer.js";
import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/context/v1/transfer_pb.js";
import { ImportNotFound } from "../gen/errors.js";
import { newId } from "../ids.js";
import { cut } from "../transfer.js";

const method = pb.Transfer.method;

/** All calls need the scope `admin`, and a key without bounds. Each RPC is one method. */
export class Archives extends GeneratedArchives {
  /**
   * Import an archive into the tenant of the key, and return the result. Rows that exist already are not written twice.
   * With its `importId` an interrupted import continues: `open` is called for the bytes from there.
   *
   * @throws ArchiveRefused A piece is malformed, or has a value that cannot be stored. The pieces before it are
   *   written.
   */
  async importArchive(
    open: (offsetBytes: number) => AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    options: { importId?: string; dryRun?: boolean } & CallOptions = {},
  ): Promise<ImportedArchive> {
    const importId = options.dryRun ? "" : (options.importId ?? newId());
    const offsetBytes = options.importId === undefined || options.dryRun ? 0 : await this.reached(importId, options);
    const header = { importId, offsetBytes: BigInt(offsetBytes), dryRun: options.dryRun };
    const settings = this.client.settings(options, this.client.attempts(options, undefined, false));
    const answer = await this.client.connection.upload(method.importArchive, importMessages(header, open(offsetBytes)), settings);
    return importedArchiveOf(answer.imported!);
  }

  private async reached(importId: string, options: CallOptions): Promise<number> {
    try {
      return (await this.getImport(importId, options)).offsetBytes;
    } catch (error) {
      if (error instanceof ImportNotFound) return 0;
      throw error;
    }
  }
}

async function* importMessages(
  header: { importId: string; offsetBytes: bigint; dryRun?: boolean },
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<pb.ImportArchiveRequest> {
  yield create(pb.ImportArchiveRequestSchema, {
    content: { case: "header", value: create(pb.ImportArchiveHeaderSchema, header) },
  });
  for await (const data of cut(bytes)) {
    yield create(pb.ImportArchiveRequestSchema, { content: { case: "data", value: data } });
  }
}
