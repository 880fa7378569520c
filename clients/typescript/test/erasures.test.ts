import assert from "node:assert/strict";
import { test } from "node:test";

import { ErasureNotFound, HoldNotFound, LegalHold, newId } from "contextkeep";

import { context, entities } from "./stack.js";

test("a subject is held, released, planned and erased in both services", async () => {
  const subject = `user ${newId()}`;
  const hold = await context.holds.put("a lawsuit", { subject });
  assert.ok((await context.holds.list({ pageSize: 1 })).some((one) => one.holdId === hold.holdId));
  await assert.rejects(context.erasures.erase(subject), LegalHold);
  await context.holds.release(hold.holdId);
  await assert.rejects(context.holds.release(hold.holdId), HoldNotFound);

  const plan = await context.erasures.plan(subject);
  assert.deepEqual([plan.counts, plan.holds], [{}, []]);
  assert.ok(plan.notFound.length > 0);
  let erasure = await context.erasures.erase(subject);
  while (erasure.state !== "finished") erasure = await context.erasures.get(erasure.erasureId);
  assert.deepEqual([erasure.removed, erasure.isBegunInGraph], [{}, true]);
  assert.ok((await entities.graph.getOwned({ erasureId: erasure.erasureId })).finishedAt);
  assert.equal((await entities.graph.getOwned({ subject })).nodes, 0);
  assert.equal((await entities.graph.eraseOwned(erasure.erasureId, subject)).nodes, 0);
  await assert.rejects(context.erasures.get(newId()), ErasureNotFound);
});
