// Made from the protos by `make proto`.

import * as workingMemoryPb from "../../gen/contextkeep/context/v1/working_memory_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { type NodeName, nameFields } from "../../names.js";
import { Noun } from "../../noun.js";
import { type BlobName, blobName } from "../../records.js";
import { Rows, pages } from "../../rows.js";
import { type BlobEntry, type DownloadUrl, blobEntryOf, downloadUrlOf } from "../working-memory.js";

/** The calls of `blobs` that are one method each. */
export class GeneratedBlobs extends Noun<AppClient> {
  /**
   * Makes a URL that gives the blob to whoever has it, straight from the provider, until it expires: for browsers and large files. It
   * is as good as the bytes: nothing here can take it back, not even purging the record before BLOB_DELETE_GRACE_S is over. What
   * it gives is not checked on its way; compare it with the record's sha256.
   *
   * Throws RecordNotFound, BlobNotFound, RecordArchived, RecordHasNoBlob, NoDownloadUrl (FailedPrecondition: the blob is in
   * a folder, or the provider's credentials sign none; use blobs.get), ProviderNotConfigured, Unavailable, InvalidArgument.
   *
   * @param options.lifetimeS Seconds until the URL expires, up to 604,800 (seven days). 0: 900.
   */
  async createDownloadUrl(
    blob: BlobName,
    options: { includeArchived?: boolean; lifetimeS?: number } & CallOptions = {},
  ): Promise<DownloadUrl> {
    const request = {
      ...blobName(blob),
      includeArchived: options.includeArchived,
      lifetimeS: options.lifetimeS,
    };
    const answer = await this.client.call(workingMemoryPb.WorkingMemory.method.createDownloadUrl, request, options);
    return downloadUrlOf(answer);
  }

  /**
   * Archives the record that the blob belongs to, as DeleteWMRecord does. Again is harmless. Throws RecordNotFound, BlobNotFound,
   * RecordHasNoBlob.
   */
  async delete(blob: BlobName, options: CallOptions = {}): Promise<string> {
    const request = {
      ...blobName(blob),
    };
    const answer = await this.client.call(workingMemoryPb.WorkingMemory.method.deleteBlob, request, options);
    return answer.workingMemoryId;
  }

  /**
   * Lists the blobs of an entity, newest first.
   *
   * Throws InvalidPageToken; of an `externalId` NodeNotFound and Unavailable.
   *
   * @param entityNodeId Required, or `externalId`.
   * @param options.includeArchived Blobs of archived records, too.
   */
  list(
    entityNodeId: NodeName,
    options: { includeArchived?: boolean; pageSize?: number } & CallOptions = {},
  ): Rows<BlobEntry> {
    const request = {
      ...nameFields("entityNodeId", entityNodeId),
      includeArchived: options.includeArchived,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(workingMemoryPb.WorkingMemory.method.listBlobs, { ...request, pageToken }, options);
        return [page.blobs.map(blobEntryOf), page.nextPageToken];
      }),
    );
  }
}
