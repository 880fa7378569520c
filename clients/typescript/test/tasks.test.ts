import assert from "node:assert/strict";
import { test } from "node:test";

import { ArtifactComplete, ArtifactNotFound } from "contextkeep";

import { context } from "./stack.js";

test("what a task makes is put in chunks, found, and read", async () => {
  const { contextId } = await context.contexts.send("Hello");
  const { taskId } = await context.tasks.create(contextId);

  const first = { artifactId: "plan", name: "Zoo", parts: [{ text: "The giraffe eats." }], metadata: { n: 1 } };
  const made = await context.artifacts.put(taskId, first);
  const chunk = { artifactId: "plan", parts: [{ data: { type: "token" } }] };
  const done = await context.artifacts.put(taskId, chunk, { append: true, lastChunk: true });
  await assert.rejects(context.artifacts.put(taskId, chunk, { append: true }), ArtifactComplete);
  const read = await context.artifacts.get(taskId, "plan", { version: 1 });

  assert.deepEqual([made.version, made.parts, made.isComplete], [1, [], false]);
  assert.deepEqual([done.partCount, done.isComplete, done.redactedParts], [2, true, [0]]);
  assert.deepEqual([read.parts[0]?.text, read.parts.length, read.metadata], ["The giraffe eats.", 2, { n: 1 }]);
  assert.deepEqual((await context.tasks.get(taskId)).artifacts.map(({ name, version }) => [name, version]), [["Zoo", 1]]);
  const [hit] = await context.contexts.search(contextId, "giraffe", { filter: { kinds: ["artifact"], taskIds: [taskId] } });
  assert.deepEqual([hit?.artifactId, hit?.taskId, hit?.seq], ["plan", taskId, 0]);
  assert.equal((await context.artifacts.getAt(contextId, hit!.ref)).parts[0]?.text, "The giraffe eats.");
  const recalled = await context.contexts.recall(contextId, "hello", { referenceTaskIds: [taskId] });
  assert.equal(recalled.items[0]?.text, "The giraffe eats.");
  await assert.rejects(context.artifacts.get(taskId, "none"), ArtifactNotFound);
});

test("what happens in a context is watched", async () => {
  const { contextId, messageId } = await context.contexts.send("one");
  const { taskId } = await context.tasks.create(contextId);

  const told: string[] = [];
  for await (const event of context.contexts.watch(contextId)) {
    const gone = event.retracted && `without ${event.retracted.seqs}`;
    told.push(event.message?.content ?? event.task?.state ?? event.artifact?.artifactId ?? gone ?? event.context!.state);
    if (event.task) await context.artifacts.put(taskId, { artifactId: "plan", parts: [{ text: "x" }] });
    if (event.artifact) await context.contexts.retractMessages(contextId, [messageId]);
    if (event.retracted) await context.contexts.close(contextId);
  }
  const later = [];
  for await (const event of context.contexts.watch(contextId, { seqFrom: 2, changeAfter: 1, untilNow: true })) later.push(event);

  assert.deepEqual(told, ["one", "submitted", "plan", "without 1", "closed"]);
  assert.deepEqual(later.map(({ seqFrom, changeAfter }) => [seqFrom, changeAfter]), [[2, 2], [2, 3], [2, 4]]);
});
