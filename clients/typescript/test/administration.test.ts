import assert from "node:assert/strict";
import { test } from "node:test";

import { JobNotFound, KeyNotFound, PermissionDenied, TenantNotFound, newId } from "contextkeep";

import { context, entities } from "./stack.js";

test("a client is told whom its key stands for", async () => {
  const caller = await context.keys.getCaller();
  assert.deepEqual([caller.tenant, caller.contextId, caller.expiresAt], ["default", "", ""]);
  assert.ok(caller.scopes.includes("read"));
});

test("a key is made, listed, taken back, and its making is kept", async () => {
  const subject = `agent ${newId()}`;
  const made = await context.keys.create(subject, ["read"], { appIds: ["crm"], ttlS: 60 });
  const [listed] = (await context.keys.list({ pageSize: 1 })).filter((one) => one.prefix === made.prefix);
  assert.deepEqual([listed!.subject, listed!.scopes, listed!.appIds, listed!.revokedAt], [subject, ["read"], ["crm"], ""]);
  await context.keys.revoke(made.prefix);
  await assert.rejects(context.keys.revoke("cgk_nobodys"), KeyNotFound);
  await assert.rejects(context.keys.create(subject, ["operator"]), (error: Error) => !(error instanceof PermissionDenied));

  // A refused call may be counted in the row of an earlier one of its kind.
  const calls = await context.operations.listAdministrativeCalls({ pageSize: 2 });
  assert.ok(calls.some((one) => one.method.endsWith("/CreateKey") && one.reason === "INVALID_ARGUMENT"));
  const revoked = calls.find((one) => one.method.endsWith("/RevokeKey") && one.status === "OK");
  assert.ok(revoked);
  assert.deepEqual(await context.operations.listAdministrativeCalls({ callId: revoked.callId }), [revoked]);
});

test("an operator sees tenants, limits one, retries work, and starts a job", async () => {
  const { limits } = await context.operations.setTenantLimits("default", { recordsMax: 2 ** 40, bytesMax: undefined });
  assert.deepEqual(limits, { recordsMax: 2 ** 40 });
  assert.equal((await context.operations.getUsage()).limits.blobBytesMax! > 0, true);
  await context.operations.setTenantLimits("default", { recordsMax: undefined });
  await assert.rejects(context.operations.setTenantLimits("nobody", { recordsMax: 1 }), TenantNotFound);
  const tenants = await context.operations.listTenants({ pageSize: 1 });
  assert.ok(tenants.some((one) => one.name === "default" && one.limits.recordsMax === undefined));

  assert.ok((await context.operations.listBackgroundWork()).every((one) => one.owed > 0));
  assert.equal(await context.operations.retryBackgroundWork("nothing"), 0);
  let job = await context.jobs.start("sweep");
  while (job.state === "running") job = await context.jobs.get(job.jobId);
  assert.deepEqual([job.kind, job.state, job.error, job.progress["blobs_failed"]], ["sweep", "done", "", 0]);
  assert.ok((await context.jobs.list({ pageSize: 1 })).some((one) => one.jobId === job.jobId));
  await assert.rejects(context.jobs.get(newId()), JobNotFound);
});

test("each process says how the last minutes were", async () => {
  for (const [client, service] of [[context, "context-service"], [entities, "entity-service"]] as const) {
    await client.operations.getRecentCalls();
    const recent = await client.operations.getRecentCalls();
    assert.deepEqual([recent.service, recent.processId.length], [service, 8]);
    assert.ok(recent.minutes.at(-1)!.calls >= 1);
    assert.ok(recent.minutes.at(-1)!.p95Ms >= recent.minutes.at(-1)!.p50Ms);
  }
});
