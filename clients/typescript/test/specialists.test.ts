import assert from "node:assert/strict";
import { test } from "node:test";

import { SpecialistNotFound, newId } from "contextkeep";

import { context } from "./stack.js";

test("a specialist is put, asked and deleted", async () => {
  const specialistId = `s${newId()}`;
  const specialist = await context.specialists.put(specialistId, { displayName: "Contracts", stepsMax: 2 });
  assert.deepEqual([specialist.version, specialist.stepsMax, specialist.nodeIds], [1, 2, []]);
  const [status] = (await context.query.ask("how late?", { providers: { ids: [specialist.providerId] } })).providers;
  assert.deepEqual([status!.family, status!.reason], ["sub-agent", "not wired: it has no folder"]);
  assert.ok((await context.specialists.list({ pageSize: 1 })).some((one) => one.specialistId === specialistId));
  await context.specialists.delete(specialistId);
  await assert.rejects(context.specialists.delete(specialistId), SpecialistNotFound);
});
