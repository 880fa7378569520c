import assert from "node:assert/strict";
import { test } from "node:test";

import { InvalidArgument, newId } from "contextkeep";

import { context } from "./stack.js";

test("a question is answered with hits, and with how each source fared", async () => {
  const { contextId } = await context.contexts.send("The narrowboat is moored at Hebden.");

  const found = await context.query.ask("Where is the narrowboat?", {
    mode: "answer",
    contextIds: [contextId],
    tokensMax: 500,
    explain: true,
    timeFrom: new Date("2026-01-01T00:00:00Z"),
  });

  assert.deepEqual(
    found.providers.filter(({ providerId }) => providerId !== "brain").map(({ providerId, state }) => [providerId, state]),
    [["context", "ok"], ["knowledge-base", "skipped"], ["memory", "skipped"], ["wiki", "skipped"], ["workspace", "ok"]],
  );
  const [hit] = found.hits;
  assert.ok(hit && hit.snippet.includes("Hebden"));
  assert.deepEqual([hit.rank, hit.family, hit.scope, hit.untrusted, hit.metadata["role"]], [1, "context", "team", true, "user"]);
  assert.ok(hit.sources[0]?.ref === hit.ref && hit.asOf.endsWith("Z"));
  assert.deepEqual([found.answer?.hitRefs, found.answer?.method], [[hit.ref], "extractive"]);
  assert.ok(found.promptText.includes("> The narrowboat") && found.promptTokens > 0 && found.traceId);
  const { shownIn, place } = found.explained[0]!.hits[0]!;
  assert.deepEqual([shownIn, place], [hit.ref, 1]);
  const again = await context.query.ask("x", { expandRefs: [hit.ref, "workspace:x"] });
  assert.deepEqual(
    again.expanded.map(({ isFound, text, scope }) => [isFound, text, scope]),
    [[true, "The narrowboat is moored at Hebden.", "team"], [false, "", ""]],
  );
});

test("each source is told as it answers, and then the whole", async () => {
  const told: string[] = [];
  for await (const { provider, answer } of context.query.stream("Where is the narrowboat?", { providers: { ids: ["wiki", "workspace"] } })) {
    told.push(provider ? `${provider.status.providerId} ${provider.status.state}` : `answer of ${answer!.providers.length}`);
  }
  assert.deepEqual([told.slice(0, 2).sort(), told.slice(2)], [["wiki skipped", "workspace ok"], ["answer of 2"]]);
  for await (const { provider } of context.query.stream("left early")) {
    assert.ok(provider);
    break;
  }
  await assert.rejects(context.query.stream("").next(), InvalidArgument);
});

test("sources are listed, and what is unknown is refused by name", async () => {
  const providers = await context.query.listProviders();
  assert.deepEqual(
    providers.map(({ providerId, isDefault, scopes }) => [providerId, isDefault, scopes]),
    [
      ["brain", true, ["team"]],
      ["context", false, ["personal", "team"]],
      ["knowledge-base", true, ["team"]],
      ["memory", true, ["personal"]],
      ["wiki", true, ["personal"]],
      ["workspace", true, ["personal", "team"]],
    ],
  );
  for (const options of [{ providers: {} }, { providers: { ids: [newId()] } }, { scope: "mine" as "team" }, { limit: 51 }]) {
    await assert.rejects(context.query.ask("x", options), InvalidArgument);
  }
  assert.equal((await context.query.ask("nothing", { providers: { families: ["workspace"] }, nodeIds: [newId()] })).answer, undefined);
});

test("what is said of a source is kept, and taken back by name", async () => {
  const said = await context.query.updateProvider("context", { deadlineMs: 60_000, isDefault: false });
  assert.deepEqual([said.enabled, said.isDefault, said.deadlineMs, said.nodeIds], [undefined, false, 60_000, undefined]);
  const { providers, target } = await context.query.getPolicy();
  const own = providers.find(({ providerId }) => providerId === "context")!;
  assert.deepEqual([own.isEnabled, own.deadlineMs, own.setting, target], [true, 60_000, said, undefined]);
  const reset = await context.query.updateProvider("context", { reset: ["deadline_ms", "is_default"] });
  assert.deepEqual([reset.deadlineMs, reset.isDefault], [undefined, undefined]);
  await assert.rejects(context.query.updateProvider("context", { nodeIds: [] }), InvalidArgument);
  assert.equal((await context.query.updateProvider("memory", { memoryMode: "recall" })).memoryMode, "recall");
  assert.equal((await context.query.updateProvider("memory", { reset: ["memory"] })).memoryMode, undefined);
});
