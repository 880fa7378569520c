import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import { InvalidArgument, NodeBudgetExceeded, NodeNotFound, VersionConflict, newId } from "contextkeep";

import { entities } from "./stack.js";

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

test("a node's input and output are any JSON", async () => {
  const { id } = await entities.graph.createNode({ generalTypeName: "Call" });
  await entities.graph.setNodeIo(id, { input: [1, 2n ** 60n], output: null });

  assert.deepEqual({ ...(await entities.graph.getNodeIo(id)), modifiedAt: "" }, { input: [1, 2n ** 60n], output: null, modifiedAt: "" });
  const [walked] = await entities.graph.traverse(id, { includeStart: true, includeIO: true });
  assert.deepEqual(walked?.io, { input: [1, 2n ** 60n], output: null });
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
