/** What a tenant stores, and what operators do for all tenants. */

import {
  type BackgroundWork,
  type Job,
  type Tenant,
  type TenantLimits,
  type Usage,
  backgroundWorkOf,
  jobOf,
  tenantOf,
  usageOf,
} from "../_gen/administration.js";
import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/context/v1/administration_pb.js";
import { choice } from "../messages.js";
import { Rows, pages } from "../rows.js";
import { AdministrationCalls } from "./administration.js";

const method = pb.Administration.method;
const KINDS = { sweep: pb.JobKind.SWEEP, fsck: pb.JobKind.FSCK };
const LIMITS = {
  recordsMax: "records_max",
  bytesMax: "bytes_max",
  blobBytesMax: "blob_bytes_max",
  contentBytesMax: "content_bytes_max",
} as const;

/** An RPC is one method. All but the first need the scope operator, which only the command line gives. */
export abstract class OperationCalls extends AdministrationCalls {
  /** What your tenant stores, and the limits that hold for it. Needs the scope admin. */
  async getUsage(options: CallOptions = {}): Promise<Usage> {
    return usageOf(await this.call(method.getUsage, {}, options));
  }

  /** All tenants by id, with what each stores. */
  listTenants(options: { pageSize?: number } & CallOptions = {}): Rows<Tenant> {
    const { pageSize } = options;
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(method.listTenants, { pageSize, pageToken }, options);
        return [page.tenants.map(tenantOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Say what a tenant may store, and return it.
   *
   * @param limits What is said as undefined is what the settings say again; what is not said stays.
   * @throws TenantNotFound There is none of this name.
   */
  async setTenantLimits(tenant: string, limits: TenantLimits, options: CallOptions = {}): Promise<Tenant> {
    const said: Record<string, bigint> = {};
    const paths: string[] = [];
    for (const [name, path] of Object.entries(LIMITS)) {
      if (!(name in limits)) continue;
      paths.push(path);
      const value = limits[name as keyof TenantLimits];
      if (value !== undefined) said[name] = BigInt(value);
    }
    return tenantOf((await this.call(method.setTenantLimits, { tenant, limits: said, updateMask: { paths } }, options)).tenant!);
  }

  /** What is owed behind calls, by kind, of all tenants together. */
  async listBackgroundWork(options: CallOptions = {}): Promise<BackgroundWork[]> {
    return (await this.call(method.listBackgroundWork, {}, options)).work.map(backgroundWorkOf);
  }

  /** Let what has failed of a kind be tried again now, 10,000 at most, and return how much it is. */
  async retryBackgroundWork(kind: string, options: CallOptions = {}): Promise<number> {
    return Number((await this.call(method.retryBackgroundWork, { kind }, options)).retried);
  }

  /**
   * Start a job, and return it as it begins; `getJob` says how far it is.
   *
   * @param options `quick` and `repair` are of "fsck".
   * @throws JobRunning One of this kind runs, in the process that was asked.
   */
  async startJob(
    kind: keyof typeof KINDS,
    options: { quick?: boolean; repair?: boolean } & CallOptions = {},
  ): Promise<Job> {
    const { quick, repair } = options;
    return jobOf((await this.call(method.startJob, { kind: choice("kind", kind, KINDS), quick, repair }, options)).job!);
  }

  /**
   * A job, as far as it is.
   *
   * @throws JobNotFound No operator of your tenant started it.
   */
  async getJob(jobId: string, options: CallOptions = {}): Promise<Job> {
    return jobOf((await this.call(method.getJob, { jobId }, options)).job!);
  }

  /** The jobs that operators of your tenant started, the newest first. */
  listJobs(options: { pageSize?: number } & CallOptions = {}): Rows<Job> {
    const { pageSize } = options;
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(method.listJobs, { pageSize, pageToken }, options);
        return [page.jobs.map(jobOf), page.nextPageToken];
      }),
    );
  }
}
