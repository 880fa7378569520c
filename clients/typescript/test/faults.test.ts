/** What a caller meets when the service, or the way to it, does not do as it should. */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, test } from "node:test";

import {
  Cancelled,
  ChecksumMismatch,
  ContextClient,
  type ContextClientOptions,
  DeadlineExceeded,
  EntityClient,
  InvalidArgument,
  Unavailable,
  UploadPartExists,
  newId,
} from "contextkeep";

import { CONTEXT_ADDRESS, ENTITY_ADDRESS, MIB, context, entities } from "./stack.js";
import { type Fate, Proxy } from "./proxy.js";

const opened: { close(): void }[] = [];
after(() => {
  for (const one of opened) one.close();
});

/** A client behind a proxy. */
async function behind(fates: Fate[], options: ContextClientOptions = {}): Promise<[ContextClient, Proxy]> {
  const proxy = await Proxy.before(CONTEXT_ADDRESS, ...fates);
  const client = new ContextClient({ address: proxy.address, ...options });
  opened.push(client, proxy);
  return [client, proxy];
}

test("a write whose answer is lost is repeated, and written once", async () => {
  const [client, proxy] = await behind(["answer lost", "answer lost", "whole"]);
  const entityNodeId = newId();

  const record = await client.records.insert({ entityNodeId, name: "a", memoryType: "file" });

  assert.equal(proxy.connections, 3);
  assert.deepEqual(await context.records.listByEntity(entityNodeId, { withContent: true }), [record]);
});

test("a graph whose answer is lost is written once", async () => {
  const proxy = await Proxy.before(ENTITY_ADDRESS, "answer lost", "whole");
  const client = new EntityClient({ address: proxy.address });
  opened.push(client, proxy);
  const root = await entities.graph.createNode({ generalTypeName: "Session" });

  const written = await client.graph.write({ nodes: [{ generalTypeName: "Turn" }] });
  const edge = await client.graph.createEdge({ fromNodeId: root.id, toNodeId: written.nodes[0]!.id, edgeType: "Contains" });

  assert.equal(proxy.connections, 2);
  assert.equal(written.nodes[0]?.existed, false);
  assert.deepEqual(await entities.graph.listEdges(root.id), [edge]);
});

test("an upload of bytes whose answer is lost is repeated, and stored once", async () => {
  const [client, proxy] = await behind(["answer lost", "whole"]);
  const entityNodeId = newId();
  const buffer = randomBytes(3 * MIB);
  const told: number[] = [];

  const record = await client.blobs.upload({ entityNodeId, name: "a", buffer, onProgress: (done) => told.push(done) });

  assert.equal(proxy.connections, 2);
  assert.equal(told.filter((done) => done === 3 * MIB).length, 2);
  assert.deepEqual((await context.blobs.list(entityNodeId)).map((blob) => blob.blobKey), [record.blobKey]);
  assert.deepEqual(await context.blobs.getAsBuffer(record), buffer);
});

test("a stream cannot be read again, so its upload is sent once", async () => {
  const [client, proxy] = await behind(["answer lost", "whole"]);

  await assert.rejects(client.blobs.upload({ name: "a", stream: [randomBytes(10)] }), Unavailable);

  assert.equal(proxy.connections, 1);
});

test("a resumable upload goes on behind answers that are lost", async () => {
  const [client, proxy] = await behind([{ answersBefore: 2 }, { answersBefore: 1 }, "whole"]);
  const entityNodeId = newId();
  const buffer = randomBytes(3 * MIB + 7);
  const told: number[] = [];
  let uploadId = "";

  const record = await client.uploads.upload({
    stream: [buffer],
    sizeBytes: buffer.length,
    name: "a",
    entityNodeId,
    partBytes: MIB,
    onStarted: (id) => (uploadId = id),
    onProgress: (done) => told.push(done),
  });

  assert.equal(proxy.connections, 3);
  assert.deepEqual(told, [MIB, 2 * MIB, 3 * MIB, buffer.length]);
  assert.deepEqual(await context.blobs.getAsBuffer(record), buffer);
  assert.equal((await context.records.listByEntity(entityNodeId)).length, 1);
  assert.equal((await context.uploads.get(uploadId)).record?.workingMemoryId, record.workingMemoryId);
});

test("an upload is gone on with by another client, and other bytes are refused", async () => {
  const buffer = randomBytes(2 * MIB + 7);
  const { uploadId } = await context.uploads.start({ name: "a", memoryType: "file" });
  await context.uploads.append(uploadId, 0, buffer.subarray(0, MIB + 1));
  await assert.rejects(context.uploads.append(uploadId, 0, buffer.subarray(0, 1)), UploadPartExists);
  const [client] = await behind(["whole"]);

  const other = Buffer.concat([randomBytes(MIB + 1), buffer.subarray(MIB + 1)]);
  await assert.rejects(client.uploads.resume(uploadId, [other]), ChecksumMismatch);
  const record = await client.uploads.resume(uploadId, [buffer]);

  assert.deepEqual(await context.blobs.getAsBuffer(record), buffer);
  assert.equal((await client.uploads.resume(uploadId, [buffer])).workingMemoryId, record.workingMemoryId);
});

test("a blob that breaks off is read again as a buffer, and an error as a stream", async () => {
  const buffer = randomBytes(4 * MIB);
  const { workingMemoryId } = await context.blobs.upload({ buffer, name: "a" });

  const [client] = await behind([2 * MIB, "whole"]);
  assert.deepEqual(await client.blobs.getAsBuffer(workingMemoryId), buffer);

  const [other] = await behind([2 * MIB, "whole"]);
  let bytes = 0;
  await assert.rejects(async () => {
    for await (const chunk of await other.blobs.get(workingMemoryId)) bytes += chunk.length;
  }, Unavailable);
  assert.ok(bytes < buffer.length);
});

test("a history that breaks off is read again from its beginning", async () => {
  const id = newId();
  const turns = Array.from({ length: 150 }, (_, n) => ({
    id: newId(),
    generalTypeName: "Turn",
    data: { role: "user", content: `${n} ${"x".repeat(20_000)}` },
  }));
  await entities.graph.write({
    nodes: [{ id, generalTypeName: "Session" }, ...turns],
    edges: turns.map((turn) => ({ fromNodeId: id, toNodeId: turn.id, edgeType: "Contains" })),
  });
  const [client, proxy] = await behind([2 * MIB, "whole"]);

  const { messages } = await client.history.get(id);

  assert.equal(proxy.connections, 2);
  assert.deepEqual(messages.map(({ content }) => Number.parseInt(content)), turns.map((_, n) => n));
});

test("an import whose answer is lost goes on, and so does an export that breaks off", async () => {
  const graphName = newId();
  const nodes = Array.from({ length: 12 }, (_, n) => ({
    node: { id: newId(), general_type_name: "Turn", data: { n, text: "x".repeat(900_000) } },
  }));
  const text = Buffer.from([{ graph: { version: 1, graph_name: graphName } }, ...nodes].map((line) => `${JSON.stringify(line)}\n`).join(""));
  const [lossy, breaking] = [
    await Proxy.before(ENTITY_ADDRESS, "answer lost", "whole"),
    await Proxy.before(ENTITY_ADDRESS, 3 * MIB, "refused", 3 * MIB, "whole"),
  ];
  const [importer, exporter] = [lossy, breaking].map(({ address }) => new EntityClient({ address }));
  opened.push(lossy, breaking, importer!, exporter!);
  const told: number[] = [];

  const done = await importer!.graph.import(inOneBuffer(text), { onProgress: (bytes) => told.push(bytes) });

  assert.equal(lossy.connections, 2);
  assert.ok(told.length > 1);
  assert.equal(told.at(-1), text.length);
  assert.deepEqual([done.graphName, done.lines, done.nodes.written + done.nodes.existed], [graphName, 13, 12]);
  assert.ok(done.nodes.existed > 0 && done.nodes.written > 0);

  const pieces: Uint8Array[] = [];
  for await (const piece of exporter!.graph.export({ graphName })) pieces.push(piece);
  const lines = Buffer.concat(pieces).toString().trimEnd().split("\n");
  assert.ok(breaking.connections >= 3);
  assert.deepEqual(lines.slice(1).map((line) => JSON.parse(line).node.data.n), nodes.map((_, n) => n));
});

/** A source that uses its buffer again. */
function* inOneBuffer(bytes: Buffer): Generator<Uint8Array> {
  const buffer = Buffer.alloc(100_000);
  for (let start = 0; start < bytes.length; start += buffer.length) {
    yield buffer.subarray(0, bytes.copy(buffer, 0, start, start + buffer.length));
  }
}

test("a service that is away is unavailable, by name, after the retries", async () => {
  const [client, proxy] = await behind(["refused"], { retries: 1 });

  await assert.rejects(client.records.get(newId()), (error) => {
    assert.ok(error instanceof Unavailable);
    assert.equal(error.metadata.dependency, "context-service");
    assert.match(error.message, new RegExp(`context-service at ${proxy.address} does not answer`));
    return true;
  });
  assert.ok(proxy.connections >= 1);
});

test("a service that comes back is found by the retries of all calls, however many there are", async () => {
  const [client, proxy] = await behind(["refused", "refused", "refused", "whole"], { retries: 8 });

  const found = await Promise.all(Array.from({ length: 25 }, () => client.records.listByEntity(newId())));

  assert.equal(proxy.connections, 4);
  assert.deepEqual(new Set(found.map((records) => records.length)), new Set([0]));
});

test("a call that gets no answer ends at its deadline", async () => {
  const [client] = await behind(["silent"]);
  const began = performance.now();

  await assert.rejects(client.records.get(newId(), { timeoutMs: 300 }), (error) => {
    assert.ok(error instanceof DeadlineExceeded);
    assert.match(error.message, /did not answer in time/);
    return true;
  });

  assert.ok(performance.now() - began < 25_000);
});

test("a stream on which nothing moves ends", async () => {
  const [client] = await behind(["silent"], { idleTimeoutMs: 300 });

  await assert.rejects(client.history.get(newId()), /nothing moved on a stream with context-service/);
  await assert.rejects(client.blobs.upload({ name: "a", buffer: randomBytes(10) }), DeadlineExceeded);
});

test("a signal ends a call with its own reason", async () => {
  const [client] = await behind(["silent"]);
  const reason = new Error("changed my mind");
  const controller = new AbortController();
  setTimeout(() => controller.abort(reason), 50);

  await assert.rejects(client.records.get(newId(), { signal: controller.signal }), reason);
  await assert.rejects(client.records.get(newId(), { signal: controller.signal }), reason);
});

test("closing the client ends what is under way", async () => {
  const [client] = await behind(["silent"]);
  const call = client.records.get(newId());
  setTimeout(() => client.close(), 50);

  await assert.rejects(call, Cancelled);
  await assert.rejects(client.records.get(newId()), Cancelled);
});

test("a number that is none is refused when the client is made", () => {
  for (const options of [{ timeoutMs: 0 }, { idleTimeoutMs: Number.NaN }, { retries: -1 }, { retries: 0.5 }]) {
    assert.throws(() => new ContextClient(options), InvalidArgument);
  }
  assert.throws(
    () => new ContextClient({ headers: { "x-secret": "hush\u0000" } }),
    (error) => error instanceof InvalidArgument && !/hush/.test(error.message),
  );
});

test("a client with as many open calls as a connection takes can call", async () => {
  const [client, proxy] = await behind(["whole", "whole"]);
  let giveUp = (): void => {};
  const given = new Promise<void>((resolve) => (giveUp = resolve));
  async function* silent(): AsyncGenerator<Uint8Array> {
    yield randomBytes(1);
    await given;
    throw new Error("given up");
  }

  const uploads = Array.from({ length: 100 }, () => client.blobs.upload({ name: "silent", stream: silent() }).catch(() => {}));
  await client.tools.list();
  giveUp();
  await Promise.all(uploads);

  assert.equal(proxy.connections, 2);
});
