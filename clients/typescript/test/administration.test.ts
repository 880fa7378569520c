import assert from "node:assert/strict";
import { test } from "node:test";

import { context } from "./stack.js";

test("a limit of a tenant is set, and taken back by its absence", async () => {
  const { limits } = await context.operations.setTenantLimits("default", { recordsMax: 2 ** 40, bytesMax: undefined });
  assert.deepEqual(limits, { recordsMax: 2 ** 40 });
  const { limits: none } = await context.operations.setTenantLimits("default", { recordsMax: undefined });
  assert.deepEqual(none, {});
});
