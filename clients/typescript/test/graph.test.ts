import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import {
  EdgeExists,
  EntityClient,
  ExternalIdTaken,
  InvalidArgument,
  InvalidPageToken,
  NodeBudgetExceeded,
  NodeNotFound,
  StatusConflict,
  VersionConflict,
  newId,
} from "contextkeep";

import { OTHER_KEY, entities } from "./stack.js";

async function collected<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const row of rows) all.push(row);
  return all;
}

/** A session with turns below it, written in one call. */
async function session(turns: number): Promise<{ id: string; turnIds: string[] }> {
  const id = newId();
  const turnIds = Array.from({ length: turns }, newId);
  await entities.graph.write({
    nodes: [
      { id, generalTypeName: "Session" },
      ...turnIds.map((turnId, index) => ({ id: turnId, generalTypeName: "Turn", data: { index } })),
    ],
    edges: turnIds.map((turnId) => ({ fromNodeId: id, toNodeId: turnId, edgeType: "Contains", data: { by: "test" } })),
  });
  return { id, turnIds };
}

test("a node comes back as it was written, whatever numbers it holds", async () => {
  const data = { text: "ünï \u{1f600}", n: 1, half: 0.5, large: 2n ** 63n - 1n, huge: 1e300, list: [null, true] };
  const written = await entities.graph.createNode({
    generalTypeName: "Session",
    name: "support",
    externalId: randomUUID(),
    data,
    createdAt: "2020-01-02T03:04:05.000006+01:00",
  });

  const node = await entities.graph.getNode(written.id);

  assert.deepEqual(node, written);
  assert.deepEqual(node.data, data);
  assert.equal(node.createdAt, "2020-01-02T02:04:05.000006Z");
  assert.equal(node.specificTypeName, "Session");
  assert.equal(node.status, "Created");
  assert.deepEqual(await entities.graph.getNodeByExternalId(node.externalId), node);
  assert.equal((await entities.graph.getNodeByName("support")).node.name, "support");
});

test("an external id belongs to one node", async () => {
  const node = { generalTypeName: "Thread", externalId: randomUUID() };
  const first = await entities.graph.createNode(node);

  assert.deepEqual(await entities.graph.createNode({ ...node, getExisting: true }), first);
  await assert.rejects(entities.graph.createNode(node), (error) => {
    assert.ok(error instanceof ExternalIdTaken);
    assert.equal(error.reason, "EXTERNAL_ID_TAKEN");
    assert.equal(error.code, "ALREADY_EXISTS");
    assert.equal(error.metadata.node_id, first.id);
    return true;
  });
});

test("a call writes all of its rows or none", async () => {
  const id = newId();
  await assert.rejects(
    entities.graph.write({
      nodes: [{ id, generalTypeName: "Session" }],
      edges: [{ fromNodeId: id, toNodeId: newId(), edgeType: "Contains" }],
    }),
    NodeNotFound,
  );
  await assert.rejects(entities.graph.getNode(id), NodeNotFound);

  const written = await entities.graph.write({ nodes: [{ id, generalTypeName: "Session" }] });
  const skipped = await entities.graph.write({ nodes: [{ id, generalTypeName: "Other" }], onExisting: "skip" });

  assert.deepEqual([written.nodes[0]?.existed, skipped.nodes[0]?.existed], [false, true]);
  assert.equal((await entities.graph.getNode(id)).generalTypeName, "Session");
});

test("a second edge of a type is refused, and an edge can be deleted", async () => {
  const { id, turnIds } = await session(1);
  const [edge] = await entities.graph.listEdges(id);
  assert.ok(edge);

  await assert.rejects(
    entities.graph.createEdge({ fromNodeId: id, toNodeId: turnIds[0]!, edgeType: "Contains" }),
    (error) => error instanceof EdgeExists && error.metadata.edge_id === edge.id,
  );

  assert.deepEqual(edge.data, { by: "test" });
  assert.deepEqual(await entities.graph.deleteEdge(edge.id), edge);
  assert.deepEqual(await entities.graph.listEdges(id), []);
});

test("a walk gives each node once, in the order of writing, with how it was reached", async () => {
  const { id, turnIds } = await session(5);

  const walked = await entities.graph.traverse(id, { edgeTypes: ["Contains"] });

  assert.deepEqual(walked.map(({ node }) => node.id), turnIds);
  assert.deepEqual(walked.map(({ node }) => node.data.index), [0, 1, 2, 3, 4]);
  assert.equal(walked[0]?.depth, 1);
  assert.equal(walked[0]?.reachedBy?.edgeType, "Contains");
  assert.equal(walked[0]?.reachedBy?.nodeId, id);
  assert.equal((await entities.graph.traverse(id, { includeStart: true })).length, 6);
  const newest = await entities.graph.traverse(id, { descending: true, limit: 2 });
  assert.deepEqual(newest.map(({ node }) => node.id), turnIds.slice(3).reverse());
  const behind = await entities.graph.traverse(id, { after: walked[2]!.node });
  assert.deepEqual(behind.map(({ node }) => node.id), turnIds.slice(3));
  for await (const { node } of entities.graph.traverse([id])) {
    assert.equal(node.id, turnIds[0]);
    break;
  }
  await assert.rejects(async () => await entities.graph.traverse(id, { nodeBudget: 2, orderPath: "index" }), NodeBudgetExceeded);
  await assert.rejects(async () => await entities.graph.traverse(newId()), NodeNotFound);
});

test("a node's data are patched, and replaced", async () => {
  const { id } = await entities.graph.createNode({ generalTypeName: "Task", data: { a: 1, b: { c: 2, d: 3 } } });

  assert.deepEqual((await entities.graph.updateNodeData(id, { b: { c: null, e: 4 } })).data, { a: 1, b: { d: 3, e: 4 } });
  assert.deepEqual((await entities.graph.updateNodeData(id, { x: 1 }, { replace: true, expectedVersion: 2 })).data, { x: 1 });
  await assert.rejects(entities.graph.updateNodeData(id, {}, { expectedVersion: 2 }), VersionConflict);
});

test("a status is changed only from what was expected, and a node archived and brought back", async () => {
  const { id } = await entities.graph.createNode({ generalTypeName: "Task" });

  assert.equal((await entities.graph.updateNodeStatus(id, "Running", { expectedStatus: "Created" })).status, "Running");
  await assert.rejects(entities.graph.updateNodeStatus(id, "Completed", { expectedStatus: "Created" }), StatusConflict);
  assert.equal((await entities.graph.archiveNode(id)).isArchived, true);
  assert.equal((await entities.graph.archiveNode(id, { restore: true })).isArchived, false);
});

test("a node's input and output are any JSON", async () => {
  const { id } = await entities.graph.createNode({ generalTypeName: "Call" });
  await entities.graph.setNodeIo(id, { input: [1, 2n ** 60n], output: null });

  assert.deepEqual({ ...(await entities.graph.getNodeIo(id)), modifiedAt: "" }, { input: [1, 2n ** 60n], output: null, modifiedAt: "" });
  const [walked] = await entities.graph.traverse(id, { includeStart: true, includeIO: true });
  assert.deepEqual(walked?.io, { input: [1, 2n ** 60n], output: null });
});

test("nodes are found by condition, and counted", async () => {
  const graphName = `search-${randomUUID()}`;
  for (const score of [1, 2, 3]) await entities.graph.createNode({ generalTypeName: "Task", graphName, data: { score } });
  const condition = { type: "Task", "data.score": { $gte: 2 } };

  const found = await entities.graph.search({ graphName, condition, orderBy: "data.score", descending: true, pageSize: 1 });

  assert.deepEqual(found.map((node) => node.data.score), [3, 2]);
  assert.equal(await entities.graph.count({ graphName, condition }), 2);
});

test("a timeline tells what happened, also in what was called", async () => {
  const [caller, called] = [newId(), newId()];
  await entities.graph.write({
    nodes: [
      { id: caller, generalTypeName: "Task" },
      { id: called, generalTypeName: "Call" },
    ],
    edges: [{ fromNodeId: caller, toNodeId: called, edgeType: "Calls" }],
  });
  const first = await entities.progress.append(caller, { type: "message", message: "begin" });
  await entities.progress.append(called, { type: "VALUE", status: "COMPLETED", subType: "return", value: { n: 2n ** 60n } });

  const told = await entities.progress.list(caller, { pageSize: 1 });

  assert.equal(told[0]?.seq, first.seq);
  assert.deepEqual(told.map(({ type, status }) => [type, status]), [["message", ""], ["value", "completed"]]);
  assert.deepEqual(told[1]?.value, { n: 2n ** 60n });
  assert.equal((await entities.progress.list(caller, { ownOnly: true, types: ["value"] })).length, 0);
  assert.equal(await entities.progress.clear(caller), 1);
});

test("a node is reset, and deleted with its edges", async () => {
  const { id, turnIds } = await session(2);
  await entities.graph.updateNodeStatus(id, "Failed");

  assert.equal((await entities.graph.resetNode(id)).status, "Created");
  assert.equal(await entities.graph.deleteNode(id), 2);
  await assert.rejects(entities.graph.getNode(id), NodeNotFound);
  assert.equal((await entities.graph.getNode(turnIds[0]!)).id, turnIds[0]);
});

test("nodes are found by how alike their vectors are", async () => {
  const [graphName, ids] = [`vectors-${randomUUID()}`, [newId(), newId(), newId()]];
  await entities.graph.write({ nodes: ids.map((id) => ({ id, graphName, generalTypeName: "Fact" })) });
  const vectors = [[1, 0], [1, 1], [0, 1]];
  for (const [row, vector] of vectors.entries()) {
    await entities.embeddings.upsert(ids[row]!, vector, { model: "test", metadata: { row } });
  }

  const similar = await entities.embeddings.search({ vector: [1, 0.1], graphName, limit: 2 });
  const others = await entities.embeddings.search({ nodeId: ids[2]!, metadataContains: { row: 1 } });

  assert.deepEqual(similar.map(({ node }) => node.id), ids.slice(0, 2));
  assert.deepEqual(others.map(({ node }) => node.id), [ids[1]]);
  assert.deepEqual((await entities.embeddings.list(ids[0]!, { withVectors: true }))[0]?.vector, [1, 0]);
  await entities.embeddings.delete(ids[0]!);
  assert.deepEqual(await entities.embeddings.list(ids[0]!), []);
});

test("edges are read and changed by id, and graphs and edge types counted", async () => {
  const graphName = `count-${randomUUID()}`;
  const [from, to] = [newId(), newId()];
  await entities.graph.write({
    nodes: [from, to].map((id) => ({ id, graphName, generalTypeName: "Thing" })),
    edges: [{ fromNodeId: from, toNodeId: to, graphName, edgeType: "Owns", data: { a: 1 } }],
  });
  const [edge] = await entities.graph.listEdges(to, { direction: "in" });

  assert.deepEqual(await entities.graph.getEdge(edge!.id), edge);
  assert.deepEqual((await entities.graph.updateEdgeData(edge!.id, { b: 2 })).data, { a: 1, b: 2 });
  assert.deepEqual((await entities.graph.getEdges([edge!.id, from])).missingIds, [from]);
  assert.deepEqual(await entities.graph.listEdgeTypes({ graphName }), [{ edgeType: "Owns", edges: 1 }]);
  const counted = (await entities.graph.listGraphs()).find((found) => found.graphName === graphName);
  assert.deepEqual(counted, { graphName, nodes: 2, edges: 1 });
});

test("many nodes are read at once, and those that are missing are named", async () => {
  const { turnIds } = await session(2);
  const missing = newId();

  const { nodes, missingIds } = await entities.graph.getNodes([turnIds[1]!, missing, turnIds[0]!]);

  assert.deepEqual(nodes.map((node) => node.id), [turnIds[1], turnIds[0]]);
  assert.deepEqual(missingIds, [missing]);
});

test("the node of another tenant is not found", async () => {
  const { id } = await entities.graph.createNode({ generalTypeName: "Secret" });
  const other = new EntityClient({ apiKey: OTHER_KEY });
  try {
    await assert.rejects(other.graph.getNode(id), NodeNotFound);
    await assert.rejects(async () => await other.graph.traverse(id), NodeNotFound);
  } finally {
    other.close();
  }
});

test("a malformed request is refused with the field", async () => {
  await assert.rejects(entities.graph.getNode("no-uuid"), (error) => {
    assert.ok(error instanceof InvalidArgument);
    assert.deepEqual(error.violations.map((violation) => violation.field), ["node_id"]);
    return true;
  });
  assert.throws(() => entities.graph.traverse(newId(), { direction: "up" as never }), InvalidArgument);
});

test("a graph is read out, goes on behind any piece, and is there when it is written again", async () => {
  const graphName = newId();
  const [from, to] = [newId(), newId()];
  await entities.graph.write({
    nodes: [from, to].map((id) => ({ id, generalTypeName: "Turn", graphName })),
    edges: [{ fromNodeId: from, toNodeId: to, edgeType: "Contains", graphName }],
  });

  const [first, ...rest] = await collected(entities.graph.exportPages({ graphName }));
  const behind = await collected(entities.graph.exportPages({ graphName, resumeToken: first!.resumeToken }));
  const again = await entities.graph.import(entities.graph.export({ graphName }));

  assert.deepEqual(behind.map(({ lines }) => lines), rest.map(({ lines }) => lines));
  assert.deepEqual([first, ...rest].reduce((sum, page) => [sum[0]! + page!.nodes, sum[1]! + page!.edges], [0, 0]), [2, 1]);
  assert.deepEqual(again, {
    graphName,
    lines: 4,
    nodes: { written: 0, existed: 2 },
    edges: { written: 0, existed: 1 },
    embeddings: { written: 0, existed: 0 },
    envelopes: { written: 0, existed: 0 },
  });
});

test("an import names the line that is wrong, and one whose source fails sends no more", async () => {
  const graphName = newId();
  const node = { node: { id: newId(), general_type_name: "Turn" } };
  const failing = async function* () {
    yield Buffer.from(`${JSON.stringify(node)}\n`);
    throw new Error("the disk is gone");
  };

  await assert.rejects(entities.graph.import(Buffer.from(`${JSON.stringify(node)}\n{}\n`), { graphName }), (error) => {
    assert.ok(error instanceof InvalidArgument);
    assert.match(error.violations[0]!.field, /^lines\[2\]/);
    return true;
  });
  await assert.rejects(entities.graph.import(failing(), { graphName }), /the disk is gone/);

  await assert.rejects(entities.graph.getNode(node.node.id), NodeNotFound);
});

test("what changed is told from a place on", async () => {
  const place = await entities.changes.start();
  const graphName = `changes-${randomUUID()}`;
  const node = await entities.graph.createNode({ graphName, generalTypeName: "Customer" });
  await entities.graph.deleteNode(node.id);

  const ours = async () => (await entities.changes.list({ place })).changes.filter((change) => change.graphName === graphName);
  for (let tries = 0; tries < 1_200 && (await ours())[0]?.kind !== "removed"; tries++) {
    await new Promise((done) => setTimeout(done, 50));
  }
  const [change, ...others] = await ours();

  assert.deepEqual(others, []);
  assert.deepEqual([change?.kind, change?.nodeId, change?.edgeId], ["removed", node.id, ""]);
  assert.deepEqual([change?.generalTypeName, change?.edgeType], ["Customer", ""]);
  const { changes, nextPlace, hasMore } = await entities.changes.list();
  assert.deepEqual([changes, hasMore], [[], false]);
  assert.deepEqual((await entities.changes.list({ place: nextPlace })).changes.filter((one) => one.graphName === graphName), []);
  await assert.rejects(entities.changes.list({ place: "x" }), InvalidPageToken);
});
