/** The kinds of use that docs/coming-from-firefoundry.md speaks of: an agent's files, its conversation, its start. */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { ContextClient, MappingRegistry, newId } from "contextkeep";

import { CONTEXT_ADDRESS, KEY, entities } from "./stack.js";

const client = new ContextClient({ address: `http://${CONTEXT_ADDRESS}`, apiKey: KEY, appId: "firefoundry" });

test("a bundle stores the report of an entity, keeps its id, and reads it again", async () => {
  const folder = await mkdtemp(join(tmpdir(), "contextkeep-"));
  try {
    const report = randomBytes(200_000);
    await writeFile(join(folder, "report.pdf"), report);
    const entity = await entities.graph.createNode({ generalTypeName: "EntityReport", name: "Q4" });

    const { workingMemoryId, blobKey } = await client.blobs.upload({
      entityNodeId: entity.id,
      memoryType: "file",
      name: "quarterly-report.pdf",
      description: "the report of the fourth quarter",
      contentType: "application/pdf",
      buffer: await readFile(join(folder, "report.pdf")),
      metadata: { stage: "original_upload", uploaded_at: new Date().toISOString() },
    });
    await entities.graph.updateNodeData(entity.id, { report_wm_id: workingMemoryId });

    const kept = (await entities.graph.getNode(entity.id)).data.report_wm_id;
    const record = await client.records.get(kept);
    assert.deepEqual([record.name, record.contentType], ["quarterly-report.pdf", "application/pdf"]);
    assert.equal(record.metadata.stage, "original_upload");
    await writeFile(join(folder, "downloaded.pdf"), await client.blobs.getAsBuffer(kept));
    assert.deepEqual(await readFile(join(folder, "downloaded.pdf")), report);
    const names: string[] = [];
    for (const found of await client.records.listByEntity(entity.id)) names.push(found.name);
    assert.deepEqual(names, ["quarterly-report.pdf"]);
    assert.deepEqual((await client.blobs.list(entity.id)).map((blob) => blob.blobKey), [blobKey]);
    await client.blobs.delete({ blobKey });
    assert.deepEqual(await client.records.listByEntity(entity.id), []);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a large file is streamed from disk, and its progress shown in per cent", async () => {
  const folder = await mkdtemp(join(tmpdir(), "contextkeep-"));
  try {
    const path = join(folder, "large.zip");
    await writeFile(path, randomBytes(4 * 1024 * 1024));
    const { size } = await stat(path);
    const shown: number[] = [];

    const record = await client.blobs.upload({
      memoryType: "file",
      name: "large.zip",
      contentType: "application/zip",
      stream: createReadStream(path),
      sizeBytes: size,
      onProgress: (done) => shown.push(Math.round((done / size) * 100)),
    });

    assert.equal(record.sizeBytes, size);
    assert.deepEqual(shown, [25, 50, 75, 100]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("an app registers its mapping when it starts, and a bot reads the conversation through it", async () => {
  const registry = new MappingRegistry();
  registry.register("fireiq_chat", {
    edgeTypes: ["Contains", "InResponseTo"],
    roleMapping: { EntityUserMessage: "user", EntityAssistantMessage: "assistant" },
    contentField: "content",
    ordering: "timestamp_asc",
    filter: "entity.data.content != ''",
  });
  await registry.apply(client);
  await registry.apply(client); // of another replica, or after a restart
  const [session, question, placeholder, answer] = [newId(), newId(), newId(), newId()];
  await entities.graph.write({
    nodes: [
      { id: session, generalTypeName: "EntityChatSession" },
      { id: question, generalTypeName: "EntityUserMessage", data: { content: "How far is it?" } },
      { id: placeholder, generalTypeName: "EntityAssistantMessage", data: { content: "" }, status: "Running" },
      { id: answer, generalTypeName: "EntityAssistantMessage", data: { content: "Nine miles." } },
    ],
    edges: [
      { fromNodeId: session, toNodeId: question, edgeType: "Contains" },
      { fromNodeId: question, toNodeId: placeholder, edgeType: "InResponseTo" },
      { fromNodeId: question, toNodeId: answer, edgeType: "InResponseTo" },
    ],
  });

  const history = await client.history.get(session, { mappingName: "fireiq_chat", maxMessages: 20 });

  assert.deepEqual(history.messages.map(({ role, content }) => `${role}: ${content}`), [
    "user: How far is it?",
    "assistant: Nine miles.",
  ]);
});

test("the built-in mapping reads turns of a bot, without a registration", async () => {
  const [session, turn] = [newId(), newId()];
  await entities.graph.write({
    nodes: [
      { id: session, generalTypeName: "Session" },
      { id: turn, generalTypeName: "Turn", data: { user_input: "Hello?", assistant_output: "Hi." } },
    ],
    edges: [{ fromNodeId: session, toNodeId: turn, edgeType: "Contains" }],
  });

  const { messages } = await client.history.get(session);

  assert.deepEqual(messages.map(({ role, content }) => [role, content]), [["user", "Hello?"], ["assistant", "Hi."]]);
});
