import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { context, entities } from "./stack.js";

test("the page of old and new names leads to methods that there are", async () => {
  const page = await readFile(new URL("../../../../docs/names.md", import.meta.url), "utf8");
  const names = [...page.matchAll(/\| `(\w+)\.(\w+)` \|$/gm)].map(([, noun, verb]) => [noun!, verb!] as const);
  assert.ok(names.length > 200);

  const clients = [context, entities] as unknown as Record<string, Record<string, unknown>>[];
  const missing = names.filter(([noun, verb]) => !clients.some((client) => typeof client[noun]?.[verb] === "function"));

  assert.deepEqual(missing, []);
});
