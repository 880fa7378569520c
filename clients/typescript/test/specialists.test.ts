import assert from "node:assert/strict";
import { test } from "node:test";

import { SpecialistNotFound, newId } from "contextkeep";

import { context } from "./stack.js";

test("a specialist is put, asked and deleted", async () => {
  const specialistId = `s${newId()}`;
  const specialist = await context.putSpecialist(specialistId, { displayName: "Contracts", stepsMax: 2 });
  assert.deepEqual([specialist.version, specialist.stepsMax, specialist.nodeIds], [1, 2, []]);
  const [status] = (await context.queryContext("how late?", { providers: { ids: [specialist.providerId] } })).providers;
  assert.deepEqual([status!.family, status!.reason], ["sub-agent", "not wired: it has no folder"]);
  assert.ok((await context.listSpecialists({ pageSize: 1 })).some((one) => one.specialistId === specialistId));
  await context.deleteSpecialist(specialistId);
  await assert.rejects(context.deleteSpecialist(specialistId), SpecialistNotFound);
});
