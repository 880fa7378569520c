// Made from the protos by `make proto`.

import * as specialistsPb from "../../gen/contextkeep/context/v1/specialists_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { type WriteOptions, requestId } from "../../writes.js";
import { type Specialist, specialistOf } from "../specialists.js";

/** Options of `specialists.put`. */
export interface SpecialistFields {
  /** A name for people; up to 200 characters. Empty: the id. */
  displayName?: string;
  /**
   * Instructions for the model about the subject: what the folder contains, which names things have, what matters. Up
   * to 8,000 characters. They guide the search; they never widen what it may read.
   */
  instructions?: string;
  /**
   * The folder: up to 20 nodes of the graph. The specialist searches the records of these nodes and of all nodes below
   * them that the caller sees, except the caller's own records. The nodes need not exist yet. Empty: the specialist has
   * no folder; it is listed, and its status says so.
   */
  nodeIds?: string[];
  /** Searches and readings per question, from 1 to 10. 0: 4. */
  stepsMax?: number;
  /** Query the specialist if a question selects no provider. */
  isDefault?: boolean;
}

/** The calls of `specialists` that are one method each. */
export class Specialists extends Noun<AppClient> {
  /**
   * Create a specialist, or replace it. A tenant has up to 50.
   *
   * A specialist is a provider of context query; its provider id is `sub-agent-` and the specialist's id. It makes
   * several queries of a question. If the service has a model, the model instead searches and reads the specialist's
   * folder step by step. Either way, it answers passages that it read, word by word, and sees no more than the caller.
   * If the model fails, the call does not: the queries answer instead, and the status says so.
   *
   * Throws InvalidArgument, LimitExceeded (limits `specialists` and `specialist.node_ids`), PermissionDenied,
   * RequestIdReused.
   *
   * @param specialistId The caller's own id: 1 to 50 lowercase letters, digits and hyphens; it begins with a letter.
   */
  async put(specialistId: string, options: SpecialistFields & WriteOptions = {}): Promise<Specialist> {
    const request = {
      specialist: {
        specialistId,
        displayName: options.displayName,
        instructions: options.instructions,
        nodeIds: options.nodeIds,
        stepsMax: options.stepsMax,
        isDefault: options.isDefault,
      },
      requestId: requestId(options),
    };
    const answer = await this.client.call(specialistsPb.Specialists.method.putSpecialist, request, options);
    return specialistOf(answer.specialist!);
  }

  /** List the specialists by id. Throws InvalidPageToken. */
  list(options: { pageSize?: number } & CallOptions = {}): Rows<Specialist> {
    const request = {
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(specialistsPb.Specialists.method.listSpecialists, { ...request, pageToken }, options);
        return [page.specialists.map(specialistOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Delete a specialist; the content of its folder stays. Throws SpecialistNotFound, PermissionDenied,
   * RequestIdReused.
   *
   * @param specialistId The specialist to delete.
   */
  async delete(specialistId: string, options: WriteOptions = {}): Promise<void> {
    const request = {
      specialistId,
      requestId: requestId(options),
    };
    await this.client.call(specialistsPb.Specialists.method.deleteSpecialist, request, options);
  }
}
