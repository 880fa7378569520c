import assert from "node:assert/strict";
import { test } from "node:test";

import { InvalidArgument, PermissionDenied, ToolNotFound, newId } from "contextkeep";

import { context } from "./stack.js";

test("a model is offered tools with the schema of their arguments", async () => {
  const [all, reading] = [await context.tools.list(), await context.tools.list({ readOnly: true })];

  const read = all.find((tool) => tool.toolName === "wm_read");
  assert.equal(read?.contextType, "WM");
  assert.equal(read?.readOnly, true);
  assert.equal(read?.inputSchema.type, "object");
  assert.ok(reading.length < all.length);
  assert.ok(reading.every((tool) => tool.readOnly));
});

test("a tool is called for an entity, and one that writes only where it may", async () => {
  const entityNodeId = newId();
  const { workingMemoryId } = await context.records.insert({ entityNodeId, name: "a.json", memoryType: "data/json", content: { a: 1 } });

  const listed = await context.tools.execute("wm_list", {}, { entityNodeId, readOnly: true });

  assert.match(JSON.stringify(listed), new RegExp(workingMemoryId));
  const archive = (readOnly: boolean) =>
    context.tools.execute("wm_archive", { working_memory_id: workingMemoryId }, { readOnly });
  await assert.rejects(archive(true), PermissionDenied);
  await archive(false);
  assert.deepEqual(await context.records.listByEntity(entityNodeId), []);
  const sent = await context.tools.execute("context_send", { content: "hers" }, { subjectUserId: "ada" });
  const { context: header } = await context.contexts.get(sent["context_id"] as string, { subjectUserId: "ada" });
  assert.equal(header.ownerUserId, "ada");
  await assert.rejects(context.tools.execute("no_such_tool"), ToolNotFound);
  await assert.rejects(context.tools.execute("wm_read", { no: "such argument" }), InvalidArgument);
});

test("the records of an entity are resources", async () => {
  const entityNodeId = newId();
  const record = await context.blobs.upload({ entityNodeId, name: "a.txt", buffer: Buffer.from("text") });

  assert.deepEqual(await context.tools.listResources(entityNodeId, { pageSize: 1 }), [
    { uri: `wm://${record.workingMemoryId}`, name: "a.txt", description: "", contentType: "text/plain", sizeBytes: 4 },
  ]);
});
