/** Usage of a tenant, and calls of operators for all tenants. */

import { type Tenant, type TenantLimits, tenantOf } from "../_gen/administration.js";
import { GeneratedOperations } from "../_gen/nouns/operations.js";
import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/context/v1/administration_pb.js";

const method = pb.Administration.method;
const LIMITS = {
  recordsMax: "records_max",
  bytesMax: "bytes_max",
  blobBytesMax: "blob_bytes_max",
  contentBytesMax: "content_bytes_max",
} as const;

/** Each RPC is one method. All but the first need the scope operator, which only the command line gives. */
export class Operations extends GeneratedOperations {
  /**
   * Set the storage limits of a tenant, and return the tenant.
   *
   * @param limits A limit that is undefined returns to the service's own limit; limits that are not named stay.
   * @throws TenantNotFound No tenant has this name.
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
    return tenantOf((await this.client.call(method.setTenantLimits, { tenant, limits: said, updateMask: { paths } }, options)).tenant!);
  }
}
