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
   * Create a URL from which anyone can download the blob directly from the provider, until it expires. Use it for
   * browsers and large files. Protect the URL like the bytes: the service cannot revoke it; even a purge of the record
   * stops it only after BLOB_DELETE_GRACE_S. The service does not check the downloaded bytes; compare them with the
   * record's sha256.
   *
   * Throws RecordNotFound, BlobNotFound, RecordArchived, RecordHasNoBlob, NoDownloadUrl
   * (FailedPrecondition: the blob is in a folder, or the credentials of the provider cannot sign; use blobs.get),
   * ProviderNotConfigured, Unavailable, InvalidArgument.
   *
   * @param options.includeArchived Also for blobs of archived and expired records.
   * @param options.lifetimeS Seconds until the URL expires, at most 604,800 (seven days). 0: 900.
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
   * Archive the record of a blob, as DeleteWMRecord does. A repeat is harmless. Throws RecordNotFound,
   * BlobNotFound, RecordHasNoBlob.
   */
  async delete(blob: BlobName, options: CallOptions = {}): Promise<string> {
    const request = {
      ...blobName(blob),
    };
    const answer = await this.client.call(workingMemoryPb.WorkingMemory.method.deleteBlob, request, options);
    return answer.workingMemoryId;
  }

  /**
   * List the blobs of an entity, newest first.
   *
   * Throws InvalidPageToken, NodeNotFound (no node has this `externalId`), Unavailable (the Entity Service does
   * not answer; only with an `externalId`).
   *
   * @param entityNodeId The node whose blobs to list. Required, or `externalId`.
   * @param options.includeArchived Include blobs of archived and expired records.
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
