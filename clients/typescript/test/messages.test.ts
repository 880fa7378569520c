import assert from "node:assert/strict";
import { test } from "node:test";

import { InvalidArgument, NodeNotFound, RequestIdReused, newId } from "contextkeep";

import { context, graph } from "./stack.js";

async function said(sessionId: string): Promise<string[]> {
  return (await context.getChatHistory(sessionId)).messages.map(({ role, content }) => `${role}: ${content}`);
}

test("messages come back in the order of the calls, and the first one makes the session", async () => {
  const session = { externalId: newId(), graphName: "support" };
  const first = await graph.appendMessage(session, { role: "user", content: "Hello", create: true });
  const second = await graph.appendMessage(session, { role: "assistant", content: "Hi", create: true });
  await graph.appendMessage(session, { role: "user", content: "Rain?" });
  await graph.appendMessage(first.sessionId, { role: "tool", content: "no", graphName: "support", data: { n: 1 } });

  assert.deepEqual([first.sessionCreated, second.sessionCreated], [true, false]);
  assert.equal(second.sessionId, first.sessionId);
  assert.deepEqual(await said(first.sessionId), ["user: Hello", "assistant: Hi", "user: Rain?", "tool: no"]);
  assert.deepEqual((await graph.getNode(second.nodeId)).createdAt, second.createdAt);
});

test("callers that begin a session at once get one", async () => {
  const session = { externalId: newId() };
  const contents = Array.from({ length: 8 }, (_, n) => `${n}`);
  const written = await Promise.all(
    contents.map((content) => graph.appendMessage(session, { role: "user", content, create: true })),
  );

  assert.equal(new Set(written.map(({ sessionId }) => sessionId)).size, 1);
  assert.equal((await said(written[0]!.sessionId)).length, 8);
});

test("a request id makes it happen once, across processes", async () => {
  for (const create of [true, false]) {
    const session = { externalId: newId() };
    await graph.createNode({ generalTypeName: "Session", ...session });
    const message = { role: "user", content: "once", create, requestId: newId() } as const;
    const first = await graph.appendMessage(session, message);

    assert.deepEqual(await graph.appendMessage(session, message), first);
    assert.deepEqual(await said(first.sessionId), ["user: once"]);
    await assert.rejects(graph.appendMessage(session, { ...message, content: "twice" }), RequestIdReused);
  }
});

test("what no history would show is refused", async () => {
  const { id } = await graph.createNode({ generalTypeName: "Session" });
  await assert.rejects(graph.appendMessage(id, { role: "human" as "user", content: "x" }), InvalidArgument);
  await assert.rejects(graph.appendMessage(id, { role: "user", content: "" }), InvalidArgument);
  await assert.rejects(graph.appendMessage(id, { role: "user", content: "x", requestId: "no-uuid" }), InvalidArgument);
  await assert.rejects(graph.appendMessage({ externalId: newId() }, { role: "user", content: "x" }), NodeNotFound);
});

test("a node is named by an external id wherever a method takes its id", async () => {
  const name = { externalId: newId(), graphName: "support" };
  const { sessionId, nodeId } = await graph.appendMessage(name, { role: "user", content: "Hello", create: true });
  for (const id of [sessionId, nodeId]) await graph.upsertEmbedding(id, [1, 0.5]);
  await graph.appendProgress(name, { type: "message", message: "begun" });
  await context.uploadBlobFromBuffer({ buffer: Buffer.from("x"), name: "x.txt", entityNodeId: sessionId });
  const rules = { roleField: "role", contentField: "content" };

  type Read = (node: typeof name | string) => PromiseLike<unknown>;
  const reads: Read[] = [
    (node) => graph.getNode(node),
    (node) => graph.getNodeIO(node),
    (node) => graph.listEdges(node),
    (node) => graph.listProgress(node),
    (node) => graph.listEmbeddings(node),
    (node) => graph.searchSimilar({ nodeId: node }),
    (node) => graph.searchNodes({ connectedTo: { nodeId: node }, graphName: "support" }),
    (node) => graph.countNodes({ connectedTo: { nodeId: node }, graphName: "support" }),
    (node) => graph.traverse(node),
    (node) => context.getChatHistory(node),
    (node) => context.getFormattedChatHistory(node, "openai"),
    (node) => context.assembleContext(node),
    (node) => context.fetchEntityHistory(node),
    (node) => context.testMapping(rules, { nodeId: node }).then((trials) => trials.map(({ messages }) => messages)),
    (node) => context.fetchWMRecordsByEntity(node),
    (node) => context.fetchWMManifest(node),
    (node) => context.listBlobs(node),
    (node) => context.listResources(node),
    (node) => context.executeTool("history_chat", {}, { entityNodeId: node }),
  ];
  for (const read of reads) assert.deepEqual(await read(name), await read(sessionId), read.toString());

  assert.deepEqual((await graph.updateNodeData(name, { a: 1 })).data, { a: 1 });
  assert.equal((await graph.updateNodeStatus(name, "Running")).status, "Running");
  assert.equal((await graph.archiveNode(name)).isArchived, true);
  await graph.setNodeIO(name, { input: 1 });
  assert.equal((await graph.resetNode(name)).status, "Created");
  await graph.deleteEmbedding(name);
  assert.equal(await graph.clearProgress(name), 0);
  const edge = { fromNodeId: nodeId, toNodeId: name, edgeType: "InResponseTo", graphName: "support" };
  assert.equal((await graph.createEdge(edge)).toNodeId, sessionId);
  await assert.rejects(context.getChatHistory({ externalId: name.externalId }), NodeNotFound);
});
