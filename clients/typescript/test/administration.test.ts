import assert from "node:assert/strict";
import { test } from "node:test";

import { KeyNotFound, PermissionDenied, newId } from "contextkeep";

import { context } from "./stack.js";

test("a key is made, listed, taken back, and its making is kept", async () => {
  const subject = `agent ${newId()}`;
  const made = await context.createKey(subject, ["read"], { appIds: ["crm"], ttlS: 60 });
  const [listed] = (await context.listKeys({ pageSize: 1 })).filter((one) => one.prefix === made.prefix);
  assert.deepEqual([listed!.subject, listed!.scopes, listed!.appIds, listed!.revokedAt], [subject, ["read"], ["crm"], ""]);
  await context.revokeKey(made.prefix);
  await assert.rejects(context.revokeKey("cgk_nobodys"), KeyNotFound);
  await assert.rejects(context.createKey(subject, ["operator"]), (error: Error) => !(error instanceof PermissionDenied));

  const [refused, , revoked] = await context.listAdministrativeCalls({ pageSize: 2 });
  assert.deepEqual([refused!.status, refused!.reason], ["INVALID_ARGUMENT", "INVALID_ARGUMENT"]);
  assert.deepEqual([revoked!.method, revoked!.status], ["contextkeep.context.v1.Administration/RevokeKey", "OK"]);
  assert.deepEqual(await context.listAdministrativeCalls({ callId: revoked!.callId }), [revoked]);
});
