// Made from the protos by `make proto`.

import * as administrationPb from "../../gen/contextkeep/context/v1/administration_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { enumInput } from "../../messages.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { type Job, jobOf } from "../administration.js";

/** The calls of `jobs` that are one method each. */
export class Jobs extends Noun<AppClient> {
  /**
   * Start a job, and answer at once. The process that took the call runs it, one job of a kind at a time, and reports
   * the progress once a second. If the process dies, the job is LOST. Start it again by hand: the finished part stays
   * finished.
   *
   * Throws JobRunning (FailedPrecondition: a job of this kind runs; metadata `jobId`), PermissionDenied,
   * InvalidArgument.
   *
   * @param kind The kind of job: a sweep purges and deletes what is due; fsck compares rows with stored bytes.
   * @param options.quick For fsck: read only the last MiB of each blob.
   * @param options.repair For fsck: repair what can be repaired. It never deletes bytes at once.
   */
  async start(kind: "sweep" | "fsck", options: { quick?: boolean; repair?: boolean } & CallOptions = {}): Promise<Job> {
    const request = {
      kind: enumInput("kind", kind, administrationPb.JobKind),
      quick: options.quick,
      repair: options.repair,
    };
    const answer = await this.client.call(administrationPb.Administration.method.startJob, request, options);
    return jobOf(answer.job!);
  }

  /**
   * Read a job that an operator of the caller's tenant started, whichever process runs it. Throws JobNotFound,
   * PermissionDenied.
   *
   * @param jobId The job to read.
   */
  async get(jobId: string, options: CallOptions = {}): Promise<Job> {
    const request = {
      jobId,
    };
    const answer = await this.client.call(administrationPb.Administration.method.getJob, request, options);
    return jobOf(answer.job!);
  }

  /**
   * List the jobs that operators of the caller's tenant started, newest first. The service keeps the last 1,000.
   * Throws PermissionDenied, InvalidPageToken.
   */
  list(options: { pageSize?: number } & CallOptions = {}): Rows<Job> {
    const request = {
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(administrationPb.Administration.method.listJobs, { ...request, pageToken }, options);
        return [page.jobs.map(jobOf), page.nextPageToken];
      }),
    );
  }
}
