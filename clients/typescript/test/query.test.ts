import assert from "node:assert/strict";
import { test } from "node:test";

import { InvalidArgument, newId } from "contextkeep";

import { context } from "./stack.js";

test("a question is answered with hits, and with how each source fared", async () => {
  const { contextId } = await context.sendMessage("The narrowboat is moored at Hebden.");

  const found = await context.queryContext("Where is the narrowboat?", {
    mode: "answer",
    contextIds: [contextId],
    tokensMax: 500,
    explain: true,
    timeFrom: new Date("2026-01-01T00:00:00Z"),
  });

  assert.deepEqual(
    found.providers.map(({ providerId, state }) => [providerId, state]),
    [["context", "ok"], ["workspace", "ok"]],
  );
  const [hit] = found.hits;
  assert.ok(hit && hit.snippet.includes("Hebden"));
  assert.deepEqual([hit.rank, hit.family, hit.scope, hit.untrusted, hit.metadata["role"]], [1, "context", "team", true, "user"]);
  assert.ok(hit.sources[0]?.ref === hit.ref && hit.asOf.endsWith("Z"));
  assert.deepEqual([found.answer?.hitRefs, found.answer?.method], [[hit.ref], "extractive"]);
  assert.ok(found.promptText.includes("> The narrowboat") && found.promptTokens > 0 && found.traceId);
  const { shownIn, place } = found.explained[0]!.hits[0]!;
  assert.deepEqual([shownIn, place], [hit.ref, 1]);
});

test("sources are listed, and what is unknown is refused by name", async () => {
  const providers = await context.listContextProviders();
  assert.deepEqual(
    providers.map(({ providerId, isDefault, scopes }) => [providerId, isDefault, scopes]),
    [["context", false, ["personal", "team"]], ["workspace", true, ["personal", "team"]]],
  );
  for (const options of [{ providers: {} }, { providers: { ids: [newId()] } }, { scope: "mine" as "team" }, { limit: 51 }]) {
    await assert.rejects(context.queryContext("x", options), InvalidArgument);
  }
  assert.equal((await context.queryContext("nothing", { providers: { families: ["workspace"] }, nodeIds: [newId()] })).answer, undefined);
});
