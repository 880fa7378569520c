import assert from "node:assert/strict";
import { test } from "node:test";

import { InvalidArgument } from "contextkeep";

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
