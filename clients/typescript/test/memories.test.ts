import assert from "node:assert/strict";
import { test } from "node:test";

import { InvalidArgument, newId } from "contextkeep";

import { context } from "./stack.js";

test("a memory comes back as it was said", async () => {
  const subjectUserId = newId();
  const options = { subjectUserId, key: "home", happenedAt: "2026-01-01T00:00:00Z" };
  const old = await context.memories.retain("Ada lives in Paris.", { ...options, source: { label: "a letter" }, confidence: 0.5 });
  assert.deepEqual([old.kind, old.confidence, old.sources[0]?.label, old.experience], ["fact", 0.5, "a letter", undefined]);
  assert.deepEqual([old.happenedAt.slice(0, 10), old.state, old.ownerUserId, old.version], ["2026-01-01", "indexed", subjectUserId, 1]);

  const experience = { goal: "move", quality: 0.25 };
  const lesson = await context.memories.retain("Ada lives in Rome.", { subjectUserId, key: "home", kind: "experience", experience });

  assert.deepEqual([lesson.experience?.quality, lesson.supersededBy, lesson.contradicts], [0.25, "", [old.memoryId]]);
  await assert.rejects(context.memories.retain("x", { subjectUserId, kind: "dream" as "fact" }), InvalidArgument);
});
