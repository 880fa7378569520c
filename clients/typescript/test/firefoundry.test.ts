/** What users of FireFoundry's Context Service do with it: docs/coming-from-firefoundry.md promises that it works here. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { MappingRegistry, RecordArchived, newId, type WMRecord } from "contextgraph";

import { context, graph } from "./stack.js";

const entity = async (): Promise<string> => (await graph.createNode({ generalTypeName: "EntityConversation" })).id;

test("a file of an entity is uploaded, found through the entity, and read back as a buffer", async () => {
  const entityNodeId = await entity();
  const uploaded = await context.uploadBlobFromBuffer({
    entityNodeId,
    memoryType: "file",
    name: "document.txt",
    description: "Project documentation",
    contentType: "text/plain",
    buffer: Buffer.from("File content here"),
    metadata: { uploadedAt: new Date().toISOString() },
  });

  assert.equal((await context.getBlobAsBuffer(uploaded.workingMemoryId)).toString(), "File content here");
  const records: WMRecord[] = [];
  for await (const record of context.fetchWMRecordsByEntity(entityNodeId)) records.push(record);
  assert.deepEqual(
    records.map(({ workingMemoryId, name, memoryType, contentType }) => [workingMemoryId, name, memoryType, contentType]),
    [[uploaded.workingMemoryId, "document.txt", "file", "text/plain"]],
  );
  assert.equal((await context.listBlobs(entityNodeId)).length, 1);
});

test("structured data is inserted, fetched by id, and gone when it is deleted", async () => {
  const inserted = await context.insertWMRecord({
    entityNodeId: await entity(),
    memoryType: "data/json",
    name: "Meeting Notes",
    description: "Team sync discussion points",
    content: { notes: "Discussed the roadmap" },
    metadata: { participants: ["Alice", "Bob"] },
  });

  const { content, metadata } = await context.fetchWMRecord(inserted.workingMemoryId);
  assert.deepEqual([content, metadata], [{ notes: "Discussed the roadmap" }, { participants: ["Alice", "Bob"] }]);
  await context.deleteWMRecord(inserted.workingMemoryId);
  await assert.rejects(context.fetchWMRecord(inserted.workingMemoryId), RecordArchived);
});

test("turns with a role and a content below Contains are a simple chat", async () => {
  const id = await entity();
  for (const [role, content] of [
    ["user", "Hello!"],
    ["assistant", "Hi there!"],
  ]) {
    const turn = await graph.createNode({ generalTypeName: "EntityChatTurn", data: { role, content } });
    await graph.createEdge({ fromNodeId: id, toNodeId: turn.id, edgeType: "Contains" });
  }

  const { messages } = await context.getChatHistory(id);

  assert.deepEqual(
    messages.map(({ role, content }) => [role, content]),
    [
      ["user", "Hello!"],
      ["assistant", "Hi there!"],
    ],
  );
});

test("a type for each role, answers behind InResponseTo, and empty placeholders: a mapping of the app reads them", async () => {
  const [id, asked, placeholder, again, answered] = [newId(), newId(), newId(), newId(), newId()];
  const message = (nodeId: string, role: "User" | "Assistant", content: string) => ({
    id: nodeId,
    generalTypeName: `Entity${role}Message`,
    data: { content },
  });
  const below = (fromNodeId: string, toNodeId: string, edgeType: string) => ({ fromNodeId, toNodeId, edgeType });
  await graph.writeGraph({
    nodes: [
      { id, generalTypeName: "EntityConversation" },
      message(asked, "User", "Hello!"),
      message(placeholder, "Assistant", ""),
      message(again, "User", "What can you do?"),
      message(answered, "Assistant", "I can help you."),
    ],
    edges: [
      below(id, asked, "Contains"),
      below(asked, placeholder, "InResponseTo"),
      below(id, again, "Contains"),
      below(id, answered, "Contains"),
    ],
  });
  const appId = `app-${newId()}`;
  const registry = new MappingRegistry().register("fireiq_chat", {
    edgeTypes: ["Contains", "InResponseTo"],
    roleMapping: { EntityUserMessage: "user", EntityAssistantMessage: "assistant" },
    contentField: "content",
    ordering: "timestamp_asc",
    filter: "entity.data.content != ''",
  });
  await registry.apply(context, { appId });
  await registry.apply(context, { appId }); // at the next start

  const { messages } = await context.getChatHistory(id, { appId, mappingName: "fireiq_chat" });

  assert.deepEqual(
    messages.map(({ role, content }) => [role, content]),
    [
      ["user", "Hello!"],
      ["user", "What can you do?"],
      ["assistant", "I can help you."],
    ],
  );
});
