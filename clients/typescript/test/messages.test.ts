import assert from "node:assert/strict";
import { test } from "node:test";

import { InvalidArgument, NodeNotFound, RequestIdReused, newId } from "contextkeep";

import { context, entities } from "./stack.js";

async function said(sessionId: string): Promise<string[]> {
  return (await context.history.get(sessionId)).messages.map(({ role, content }) => `${role}: ${content}`);
}

test("messages come back in the order of the calls, and the first one makes the session", async () => {
  const session = { externalId: newId(), graphName: "support" };
  const first = await entities.graph.appendMessage(session, { role: "user", content: "Hello", create: true });
  const second = await entities.graph.appendMessage(session, { role: "assistant", content: "Hi", create: true });
  await entities.graph.appendMessage(session, { role: "user", content: "Rain?" });
  await entities.graph.appendMessage(first.sessionId, { role: "tool", content: "no", graphName: "support", data: { n: 1 } });

  assert.deepEqual([first.sessionCreated, second.sessionCreated], [true, false]);
  assert.equal(second.sessionId, first.sessionId);
  assert.deepEqual(await said(first.sessionId), ["user: Hello", "assistant: Hi", "user: Rain?", "tool: no"]);
  assert.deepEqual((await entities.graph.getNode(second.nodeId)).createdAt, second.createdAt);
});

test("callers that begin a session at once get one", async () => {
  const session = { externalId: newId() };
  const contents = Array.from({ length: 8 }, (_, n) => `${n}`);
  const written = await Promise.all(
    contents.map((content) => entities.graph.appendMessage(session, { role: "user", content, create: true })),
  );

  assert.equal(new Set(written.map(({ sessionId }) => sessionId)).size, 1);
  assert.equal((await said(written[0]!.sessionId)).length, 8);
});

test("a request id makes it happen once, across processes", async () => {
  for (const create of [true, false]) {
    const session = { externalId: newId() };
    await entities.graph.createNode({ generalTypeName: "Session", ...session });
    const message = { role: "user", content: "once", create, requestId: newId() } as const;
    const first = await entities.graph.appendMessage(session, message);

    assert.deepEqual(await entities.graph.appendMessage(session, message), first);
    assert.deepEqual(await said(first.sessionId), ["user: once"]);
    await assert.rejects(entities.graph.appendMessage(session, { ...message, content: "twice" }), RequestIdReused);
  }
});

test("what no history would show is refused", async () => {
  const { id } = await entities.graph.createNode({ generalTypeName: "Session" });
  await assert.rejects(entities.graph.appendMessage(id, { role: "human" as "user", content: "x" }), InvalidArgument);
  await assert.rejects(entities.graph.appendMessage(id, { role: "user", content: "" }), InvalidArgument);
  await assert.rejects(entities.graph.appendMessage(id, { role: "user", content: "x", requestId: "no-uuid" }), InvalidArgument);
  await assert.rejects(entities.graph.appendMessage({ externalId: newId() }, { role: "user", content: "x" }), NodeNotFound);
});

test("a node is named by an external id wherever a method takes its id", async () => {
  const name = { externalId: newId(), graphName: "support" };
  const { sessionId, nodeId } = await entities.graph.appendMessage(name, { role: "user", content: "Hello", create: true });
  for (const id of [sessionId, nodeId]) await entities.embeddings.upsert(id, [1, 0.5]);
  await entities.progress.append(name, { type: "message", message: "begun" });
  await context.blobs.upload({ buffer: Buffer.from("x"), name: "x.txt", entityNodeId: sessionId });
  const rules = { roleField: "role", contentField: "content" };

  type Read = (node: typeof name | string) => PromiseLike<unknown>;
  const reads: Read[] = [
    (node) => entities.graph.getNode(node),
    (node) => entities.graph.getNodeIo(node),
    (node) => entities.graph.listEdges(node),
    (node) => entities.progress.list(node),
    (node) => entities.embeddings.list(node),
    (node) => entities.embeddings.search({ nodeId: node }),
    (node) => entities.graph.search({ connectedTo: { nodeId: node }, graphName: "support" }),
    (node) => entities.graph.count({ connectedTo: { nodeId: node }, graphName: "support" }),
    (node) => entities.graph.traverse(node),
    (node) => context.history.get(node),
    (node) => context.history.formatted(node, "openai"),
    (node) => context.history.assemble(node),
    (node) => context.history.listEvents(node),
    (node) => context.mappings.test(rules, { nodeId: node }).then((trials) => trials.map(({ messages }) => messages)),
    (node) => context.records.listByEntity(node),
    (node) => context.records.manifest(node),
    (node) => context.blobs.list(node),
    (node) => context.tools.listResources(node),
    (node) => context.tools.execute("history_chat", {}, { entityNodeId: node }),
  ];
  for (const read of reads) assert.deepEqual(await read(name), await read(sessionId), read.toString());

  assert.deepEqual((await entities.graph.updateNodeData(name, { a: 1 })).data, { a: 1 });
  assert.equal((await entities.graph.updateNodeStatus(name, "Running")).status, "Running");
  assert.equal((await entities.graph.archiveNode(name)).isArchived, true);
  await entities.graph.setNodeIo(name, { input: 1 });
  assert.equal((await entities.graph.resetNode(name)).status, "Created");
  await entities.embeddings.delete(name);
  assert.equal(await entities.progress.clear(name), 0);
  const edge = { fromNodeId: nodeId, toNodeId: name, edgeType: "InResponseTo", graphName: "support" };
  assert.equal((await entities.graph.createEdge(edge)).toNodeId, sessionId);
  await assert.rejects(context.history.get({ externalId: name.externalId }), NodeNotFound);
});
