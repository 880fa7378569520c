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
   * Says what there is of a subject, by kind, and which holds forbid to erase it. It also says what no erasure finds, since nothing says
   * whose it is. It changes nothing. It counts what is there, which takes a second for some million rows.
   *
   * Throws InvalidArgument, PermissionDenied, Unavailable (the Entity Service does not answer).
   *
   * @param subject The id of a user, as `ownerUserId` has it: up to 512 characters.
   */
  async plan(subject: string, options: CallOptions = {}): Promise<ErasurePlan> {
    const request = {
      subject,
    };
    const answer = await this.client.call(erasuresPb.Erasures.method.planErasure, request, options);
    return erasurePlanOf(answer);
  }

  /**
   * Begins to erase a subject, and answers a receipt at once. The services go on by themselves, whichever process is killed, in steps
   * that hold up nobody. What goes: the subject's keys; contexts with all below them; memories, wiki pages, tests of sources; records
   * with their bytes, which have no grace; unfinished uploads; nodes with all that hangs on them; what compiled pages say of those; all
   * that any of these is found by; the answers of repeated calls. Where something of others' says who wrote it, a pseudonym takes the
   * place of the subject, in the kept calls of administrators too. While an erasure of the subject runs, another call answers the same
   * receipt. Stop before whoever writes for the subject: what comes behind a step stays.
   *
   * If the Entity Service does not answer, the erasure is begun all the same, and the call is Unavailable: call again, and it is begun
   * there, too.
   *
   * Throws LegalHold (FailedPrecondition, with `hold_ids`), InvalidArgument, PermissionDenied, RequestIdReused, Unavailable.
   *
   * @param subject As of PlanErasureRequest.
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
   * Reads a receipt as it is now. Who was erased is on none: numbers, times and ids of our own are. They are kept for good, so that erasures can be done again on a
   * database that was restored from before them.
   *
   * Throws ErasureNotFound, PermissionDenied, Unavailable (the Entity Service does not answer).
   */
  async get(erasureId: string, options: CallOptions = {}): Promise<SubjectErasure> {
    const request = {
      erasureId,
    };
    const answer = await this.client.call(erasuresPb.Erasures.method.getSubjectErasure, request, options);
    return subjectErasureOf(answer.erasure!);
  }
}
