import assert from "node:assert/strict";
import { test } from "node:test";

import { ErasureNotFound, HoldNotFound, LegalHold, newId } from "contextkeep";

import { context, graph } from "./stack.js";

test("a subject is held, released, planned and erased in both services", async () => {
  const subject = `user ${newId()}`;
  const hold = await context.putHold("a lawsuit", { subject });
  assert.ok((await context.listHolds({ pageSize: 1 })).some((one) => one.holdId === hold.holdId));
  await assert.rejects(context.erase(subject), LegalHold);
  await context.releaseHold(hold.holdId);
  await assert.rejects(context.releaseHold(hold.holdId), HoldNotFound);

  const plan = await context.planErasure(subject);
  assert.deepEqual([plan.counts, plan.holds], [{}, []]);
  assert.ok(plan.notFound.length > 0);
  let erasure = await context.erase(subject);
  while (erasure.state !== "finished") erasure = await context.getSubjectErasure(erasure.erasureId);
  assert.deepEqual([erasure.removed, erasure.isBegunInGraph], [{}, true]);
  assert.ok((await graph.getOwned({ erasureId: erasure.erasureId })).finishedAt);
  assert.equal((await graph.getOwned({ subject })).nodes, 0);
  assert.equal((await graph.eraseOwned(erasure.erasureId, subject)).nodes, 0);
  await assert.rejects(context.getSubjectErasure(newId()), ErasureNotFound);
});
