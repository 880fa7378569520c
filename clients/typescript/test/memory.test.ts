import assert from "node:assert/strict";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import {
  BlobNotFound,
  ChecksumMismatch,
  Cancelled,
  ContextClient,
  DeadlineExceeded,
  InvalidArgument,
  RangePastEnd,
  RecordHasNoBlob,
  RecordNotFound,
  RequestIdReused,
  SizeMismatch,
  Unauthenticated,
  newId,
} from "contextkeep";

import { CONTEXT_ADDRESS, MIB, OTHER_KEY, context, withContext } from "./stack.js";

test("a text comes back as it was written, and is found", async () => {
  const entityNodeId = newId();
  const text = "# Wombat\n\u2028 plan";
  const note = await context.records.insert({ entityNodeId, name: "note", memoryType: "file", contentText: text });
  assert.deepEqual(await context.records.get(note.workingMemoryId), note);
  assert.deepEqual([note.contentText, note.content, note.contentJson, note.contentType], [text, text, "", "text/plain"]);
  assert.equal((await context.records.search({ text: "wombats", entityNodeIds: [entityNodeId] })).length, 1);
  const changed = await context.records.update(note.workingMemoryId, { contentText: "other" });
  assert.equal(changed.contentText, "other");
  await assert.rejects(
    context.records.update(note.workingMemoryId, { contentText: "a", content: 1 }),
    (error: Error) => error instanceof InvalidArgument,
  );
});

test("a record comes back as it was written", async () => {
  const entityNodeId = newId();
  const written = await context.records.insert({
    entityNodeId,
    name: "plan.json",
    memoryType: "data/json",
    description: "what to do",
    content: { steps: ["look", "think"], big: 2n ** 63n - 1n, float: 0.5 },
    metadata: { stage: "draft", nested: { a: [1, null] } },
    tags: ["a", "b"],
    expiresAt: "2099-01-01T00:00:00.000001Z",
  });

  const record = await context.records.get(written.workingMemoryId);

  assert.deepEqual(record, written);
  assert.deepEqual(record.content, { steps: ["look", "think"], big: 2n ** 63n - 1n, float: 0.5 });
  assert.deepEqual(record.metadata, { stage: "draft", nested: { a: [1, null] } });
  assert.equal(record.expiresAt, "2099-01-01T00:00:00.000001Z");
  assert.equal(record.provider, "postgres");
  assert.equal(record.status, "active");
  assert.equal(record.version, 1);
  assert.match(record.createdAt, /^20[0-9]{2}-.*\.[0-9]{6}Z$/);
  assert.deepEqual(
    JSON.parse((await context.blobs.getContent(record)).toString().replace("9223372036854775807", "0")),
    { steps: ["look", "think"], big: 0, float: 0.5 },
  );
});

test("a list is read page by page, or at once", async () => {
  const entityNodeId = newId();
  for (const name of ["a", "b", "c", "d", "e"]) await context.records.insert({ entityNodeId, name, memoryType: "file" });
  const rows = context.records.listByEntity(entityNodeId, { pageSize: 2 });

  const names: string[] = [];
  for await (const record of rows) {
    names.push(record.name);
    if (names.length === 3) break;
  }

  assert.deepEqual(names, ["e", "d", "c"]);
  assert.deepEqual((await rows).map((record) => record.name), ["e", "d", "c", "b", "a"]);
  assert.deepEqual((await context.records.listByEntity(entityNodeId, { names: ["b"] })).length, 1);
  assert.deepEqual(await context.records.listByEntity(newId()), []);
});

for (const size of [0, 1, MIB, 5 * MIB + 7]) {
  test(`a blob of ${size} bytes comes back`, async () => {
    const buffer = randomBytes(size);
    const told: [number, number | undefined][] = [];

    const record = await context.blobs.upload({
      buffer,
      name: "data.bin",
      onProgress: (done, total) => told.push([done, total]),
    });

    assert.equal(record.sizeBytes, size);
    assert.equal(record.sha256, createHash("sha256").update(buffer).digest("hex"));
    assert.equal(record.memoryType, "file");
    assert.deepEqual(await context.blobs.getAsBuffer(record.workingMemoryId), buffer);
    assert.deepEqual(await context.blobs.getAsBuffer({ blobKey: record.blobKey }), buffer);
    assert.deepEqual(await context.blobs.getContent(record), buffer);
    if (size) assert.deepEqual(told.at(-1), [size, size]);
  });
}

test("a file goes up and comes down as a stream, and progress is told", async () => {
  const folder = await mkdtemp(join(tmpdir(), "contextkeep-"));
  try {
    const content = randomBytes(3 * MIB + 1);
    await writeFile(join(folder, "up.bin"), content);
    const told: number[] = [];

    const record = await context.blobs.upload({
      stream: createReadStream(join(folder, "up.bin")),
      sizeBytes: content.length,
      name: "up.bin",
      contentType: "application/x-test",
      onProgress: (done) => told.push(done),
    });
    await writeFile(join(folder, "down.bin"), await context.blobs.get(record));

    assert.deepEqual(told, [MIB, 2 * MIB, 3 * MIB, 3 * MIB + 1]);
    assert.equal(record.contentType, "application/x-test");
    assert.deepEqual(await readFile(join(folder, "down.bin")), content);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a web stream and a generator go up, too", async () => {
  const [buffer, bytes] = [randomBytes(100_000), Buffer.from("hello")];
  const web = await context.blobs.upload({ stream: new Blob([buffer]).stream(), name: "web.bin" });
  const generated = await context.blobs.upload({
    name: "generated.bin",
    stream: (function* () {
      for (const byte of bytes) yield Uint8Array.of(byte);
    })(),
  });

  assert.deepEqual(await context.blobs.getAsBuffer(web), buffer);
  assert.deepEqual(await context.blobs.getAsBuffer(generated), bytes);
});

test("a range is read, and one past the end is refused", async () => {
  const buffer = randomBytes(2 * MIB);
  const record = await context.blobs.upload({ buffer, name: "data.bin" });

  const reader = await context.blobs.get(record, { offsetBytes: MIB - 10, lengthBytes: 20 });
  const read = Buffer.concat(await Readable.from(reader).toArray());

  assert.equal(reader.sizeBytes, 20);
  assert.deepEqual(read, buffer.subarray(MIB - 10, MIB + 10));
  await assert.rejects(context.blobs.get(record, { offsetBytes: 2 * MIB + 1 }), RangePastEnd);
});

test("a reader that is left early, or never begun, lets the client go on", async () => {
  const record = await context.blobs.upload({ buffer: randomBytes(20 * MIB), name: "large.bin" });

  for await (const _ of await context.blobs.get(record)) break;
  await (await context.blobs.get(record)).close();

  assert.equal((await context.records.get(record.workingMemoryId)).sizeBytes, 20 * MIB);
});

test("a stream that fails stores nothing, and its error is thrown", async () => {
  const entityNodeId = newId();
  async function* broken() {
    yield randomBytes(2 * MIB);
    throw new Error("the disk is gone");
  }

  for (let round = 0; round < 20; round++) {
    const upload = context.blobs.upload({ stream: broken(), name: `a${round}`, entityNodeId });
    await assert.rejects(upload, /the disk is gone/);
  }

  await delay(500);
  assert.deepEqual(await context.records.listByEntity(entityNodeId), []);
});

test("an upload that is given up half-way stores nothing: by its signal, its deadline, or the end of the client", async () => {
  const entityNodeId = newId();
  const upload = async (client: ContextClient, options: { signal?: AbortSignal; timeoutMs?: number }, giveUp: () => void) => {
    async function* source() {
      yield randomBytes(2 * MIB);
      giveUp();
      await delay(100);
    }
    await client.blobs.upload({ stream: source(), name: newId(), entityNodeId, ...options });
  };

  for (let round = 0; round < 5; round++) {
    const aborting = new AbortController();
    const abort = () => aborting.abort(new Error("enough"));
    await assert.rejects(upload(context, { signal: aborting.signal }, abort), /enough/);
    await assert.rejects(upload(context, { timeoutMs: 50 }, () => {}), DeadlineExceeded);
    await withContext({}, async (client) => {
      await assert.rejects(upload(client, {}, () => client.close()), Cancelled);
    });
  }

  await delay(500);
  assert.deepEqual(await context.records.listByEntity(entityNodeId), []);
});

test("other bytes than were declared are refused, and nothing is stored", async () => {
  const entityNodeId = newId();
  const stream = () => Readable.from([Buffer.from("five!")]);

  await assert.rejects(
    context.blobs.upload({ stream: stream(), sizeBytes: 6, name: "a", entityNodeId }),
    SizeMismatch,
  );
  await assert.rejects(
    context.blobs.upload({ stream: stream(), sha256: "0".repeat(64), name: "a", entityNodeId }),
    ChecksumMismatch,
  );
  await assert.rejects(
    context.blobs.upload({ stream: ["text"] as never, name: "a", entityNodeId }),
    InvalidArgument,
  );
  assert.deepEqual(await context.blobs.list(entityNodeId), []);
});

test("an upload that is answered before its bytes are read is the first one", async () => {
  const upload = { buffer: randomBytes(12 * MIB), name: "large.bin", requestId: randomUUID() };

  const first = await context.blobs.upload(upload);
  const again = await context.blobs.upload(upload);

  assert.equal(again.workingMemoryId, first.workingMemoryId);
  await assert.rejects(context.blobs.upload({ ...upload, name: "other.bin" }), RequestIdReused);
});

test("an upload that is cancelled stores nothing", async () => {
  const entityNodeId = newId();
  const controller = new AbortController();
  const endless = (async function* () {
    for (;;) yield randomBytes(MIB);
  })();
  const onProgress = (done: number) => done >= 3 * MIB && controller.abort(new Error("enough"));

  await assert.rejects(
    context.blobs.upload({ stream: endless, name: "a", entityNodeId, signal: controller.signal, onProgress }),
    /enough/,
  );

  assert.deepEqual(await context.records.listByEntity(entityNodeId), []);
});

test("what is no blob is said to be none", async () => {
  const inline = await context.records.insert({ name: "a", memoryType: "data/json", contentJson: '{"a": 1}' });

  await assert.rejects(context.blobs.get(inline), RecordHasNoBlob);
  await assert.rejects(context.blobs.get("no-such-key"), BlobNotFound);
  await assert.rejects(context.blobs.getAsBuffer(newId()), RecordNotFound);
  await assert.rejects(context.blobs.get(""), InvalidArgument);
  assert.equal((await context.blobs.getContent(inline)).toString(), '{"a": 1}');
});

test("the key may change, and may come as a header", async () => {
  const { workingMemoryId } = await context.records.insert({ name: "a", memoryType: "file" });
  await withContext({ apiKey: "wrong" }, async (client) => {
    await assert.rejects(client.records.get(workingMemoryId), Unauthenticated);
    client.setApiKey(process.env.CONTEXT_SERVICE_API_KEY!);
    assert.equal((await client.records.get(workingMemoryId)).name, "a");
    await assert.rejects(
      client.records.get(workingMemoryId, { headers: { authorization: `Bearer ${OTHER_KEY}` } }),
      RecordNotFound,
    );
    assert.throws(() => client.setApiKey("line\nbreak"), InvalidArgument);
  });
  await withContext({ apiKey: "", headers: { "x-api-key": OTHER_KEY } }, async (client) => {
    await assert.rejects(client.records.get(workingMemoryId), RecordNotFound);
  });
});

test("records are found by their words, by a vector, and by both", async () => {
  const [entityNodeId, word] = [newId(), `w${randomBytes(8).toString("hex")}`];
  const embedding = Array.from({ length: 1536 }, (_, index) => (index === 0 ? 1 : 0));
  const record = { entityNodeId, memoryType: "data/json", embedding, embeddingModel: "test" };
  const { workingMemoryId } = await context.records.insert({ ...record, name: "a", content: { text: `${word} found` } });
  await context.records.insert({ entityNodeId, memoryType: "file", name: "b" });

  const byText = await context.records.search({ text: word, withContent: true });
  const byBoth = await context.records.search({ text: word, embedding, entityNodeIds: [entityNodeId], mode: "fused" });

  assert.deepEqual(byText.map((hit) => hit.record.workingMemoryId), [workingMemoryId]);
  assert.deepEqual(byText[0]?.record.content, { text: `${word} found` });
  assert.deepEqual([byBoth[0]?.textPlace, byBoth[0]?.vectorPlace], [1, 1]);
  assert.ok(Math.abs(byBoth[0]!.similarity - 1) < 0.001);
});

test("records belong to the client's app, where a call names none", async () => {
  await withContext({ appId: "app-one" }, async (client) => {
    const record = { name: "a", memoryType: "file" };
    assert.equal((await client.records.insert(record)).appId, "app-one");
    assert.equal((await client.records.insert({ ...record, appId: "app-two" })).appId, "app-two");
    assert.equal((await client.blobs.upload({ name: "a", buffer: Buffer.from("a") })).appId, "app-one");
  });
});

test("a value that cannot travel is refused before it does, with its field", async () => {
  const record = { name: "a", memoryType: "file" };
  const field = (name: string) => (error: unknown) =>
    error instanceof InvalidArgument && error.violations[0]?.field === name;

  await assert.rejects(context.records.insert({ ...record, metadata: { n: Number.NaN } }), field("record.metadata_json"));
  await assert.rejects(context.records.insert({ ...record, metadata: [] }), field("record.metadata_json"));
  await assert.rejects(context.records.insert({ ...record, expiresAt: "tomorrow" }), field("record.expires_at"));
  await assert.rejects(context.records.insert({ ...record, content: 1, contentJson: "1" }), field("record.content_json"));
  await assert.rejects(context.records.insert({ ...record, metadata: { text: "\ud800" } }), field("record.metadata_json"));
  const listed = async (pageSize: number) => await context.records.listByEntity(newId(), { pageSize });
  await assert.rejects(listed(1.5), InvalidArgument);
  await assert.rejects(listed(-1), field("page_size"));
});

test("the address is read in every form, and one that is none is refused", () => {
  for (const address of ["localhost:1", "http://localhost", "https://host:444/", "[::1]:50051", CONTEXT_ADDRESS]) {
    new ContextClient({ address }).close();
  }
  for (const address of ["localhost", "ftp://localhost:1", "host:99999", "http://user:secret@host:1", ""]) {
    assert.throws(() => new ContextClient({ address }), (error) => {
      assert.ok(error instanceof InvalidArgument);
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
  }
});
