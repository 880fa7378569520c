// Made from the protos by `make proto`.

import * as erasuresPb from "../../gen/contextkeep/context/v1/erasures_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { Noun } from "../../noun.js";
import { type WriteOptions, requestId } from "../../writes.js";
import { type ErasurePlan, type SubjectErasure, erasurePlanOf, subjectErasureOf } from "../erasures.js";

/** The calls of `erasures` that are one method each. */
export class Erasures extends Noun<AppClient> {
  /**
   * Count the data of a subject by kind, and list the holds that forbid its erasure. It also lists data that no
   * erasure finds, because nothing in it says whose it is. It changes nothing. It counts existing rows, which takes
   * about a second for several million rows.
   *
   * Throws InvalidArgument, PermissionDenied, Unavailable (the Entity Service does not answer).
   *
   * @param subject The id of a user, as in `ownerUserId`: up to 512 characters.
   */
  async plan(subject: string, options: CallOptions = {}): Promise<ErasurePlan> {
    const request = {
      subject,
    };
    const answer = await this.client.call(erasuresPb.Erasures.method.planErasure, request, options);
    return erasurePlanOf(answer);
  }

  /**
   * Start the erasure of a subject, and answer a receipt at once. The services then continue by themselves in small
   * steps that do not block other work; they also continue if a process is killed.
   *
   * They delete: the subject's keys; contexts with all child contexts; memories, wiki pages and tests of sources;
   * records with their bytes, without a grace period; unfinished uploads; nodes with everything attached to them; the
   * content of compiled pages about these nodes; all search indexes of these; the stored answers of repeated calls. If
   * data of other users names the subject as the author, a pseudonym replaces the name, also in the log of
   * administrative calls. While an erasure of the subject runs, another call answers the same receipt. First stop the
   * programs that write for the subject: rows that they write after a step stay.
   *
   * If the Entity Service does not answer, the erasure starts in the Context Service only, and the call fails with
   * Unavailable. Repeat the call to start it in the Entity Service too.
   *
   * Throws LegalHold (FailedPrecondition: holds forbid it; metadata `hold_ids`), InvalidArgument,
   * PermissionDenied, RequestIdReused, Unavailable.
   *
   * @param subject The id of the user to erase, as in `ownerUserId`: up to 512 characters.
   */
  async erase(subject: string, options: WriteOptions = {}): Promise<SubjectErasure> {
    const request = {
      subject,
      requestId: requestId(options),
    };
    const answer = await this.client.call(erasuresPb.Erasures.method.erase, request, options);
    return subjectErasureOf(answer.erasure!);
  }

  /**
   * Read the current state of a receipt. A receipt does not name the erased subject; it has only numbers, times and
   * ids that the service made. The service keeps receipts for good, so that erasures can be repeated on a database that
   * was restored from an older backup.
   *
   * Throws ErasureNotFound, PermissionDenied, Unavailable (the Entity Service does not answer).
   *
   * @param erasureId The erasure, as in its receipt.
   */
  async get(erasureId: string, options: CallOptions = {}): Promise<SubjectErasure> {
    const request = {
      erasureId,
    };
    const answer = await this.client.call(erasuresPb.Erasures.method.getSubjectErasure, request, options);
    return subjectErasureOf(answer.erasure!);
  }
}
