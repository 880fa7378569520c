import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import {
  ContextClosed,
  ContextNotFound,
  ErasureNotFound,
  InvalidArgument,
  MessageExists,
  MessageNotFound,
  type PartInput,
  type RecallFilter,
  type RecallOptions,
  newId,
} from "contextkeep";

import { OTHER_KEY, context, entities, withContext } from "./stack.js";

test("a conversation is begun, gone on with, and read", async () => {
  const shop = { system: "shop", id: newId() };

  const first = await context.contexts.send("Hello", {
    context: { title: "support", externalIds: [shop], metadata: { vip: true } },
  });
  const { contextId } = first;
  const more = await context.contexts.append(
    [
      { content: "Hi", role: "agent", agentId: "helper", messageId: "m-2", saidAt: "2026-01-02T03:04:05Z" },
      { content: "Bye", name: "Ann", metadata: { n: 2n ** 60n } },
    ],
    { contextId },
  );
  const { context: header, messages } = await context.contexts.get(contextId);

  assert.deepEqual([first.created, first.seq, more.map((sent) => [sent.contextId, sent.seq])], [
    true,
    1,
    [
      [contextId, 2],
      [contextId, 3],
    ],
  ]);
  assert.deepEqual([header.title, header.externalIds, header.metadata], ["support", [shop], { vip: true }]);
  assert.deepEqual([header.state, header.lastSeq, header.messageCount, header.agentIds], ["open", 3, 3, ["helper"]]);
  assert.deepEqual(
    messages.map(({ role, content, name }) => [role, content, name]),
    [
      ["user", "Hello", ""],
      ["assistant", "Hi", ""],
      ["user", "Bye", "Ann"],
    ],
  );
  assert.deepEqual([messages[1]?.saidAt, messages[1]?.agentId, messages[1]?.seq], ["2026-01-02T03:04:05.000000Z", "helper", 2]);
  assert.deepEqual(messages[2]?.metadata, { n: 2n ** 60n });
  assert.deepEqual(await context.contexts.getMessage(contextId, "m-2"), messages[1]);
  assert.deepEqual((await context.contexts.get(contextId, { historyLength: 0 })).messages, []);
  assert.deepEqual(await context.contexts.listMessages(contextId, { pageSize: 1 }), messages);
  assert.deepEqual(
    (await context.contexts.listMessages(contextId, { seqFrom: 2, newestFirst: true, pageSize: 1 })).map(({ seq }) => seq),
    [3, 2],
  );
});

test("contexts are found by what is said of them, page by page", async () => {
  const externalId = { system: "shop", id: newId() };
  const begun = [];
  for (const n of [0, 1, 2]) {
    const { contextId } = await context.contexts.send("x", { context: { externalIds: [externalId], metadata: { n } } });
    begun.unshift(contextId);
  }
  const ids = (found: { contextId: string }[]) => found.map(({ contextId }) => contextId);

  assert.deepEqual(ids(await context.contexts.getByExternalId(externalId, { pageSize: 1 })), begun);
  assert.deepEqual(ids(await context.contexts.list({ externalId, state: "open", pageSize: 2 })), begun);
  assert.deepEqual(ids(await context.contexts.list({ externalId, metadataContains: { n: 1 } })), [begun[1]]);
  assert.deepEqual(ids(await context.contexts.list({ externalId, createdTo: "2026-01-01T00:00:00Z" })), []);
  assert.throws(() => context.contexts.list({ state: "gone" as "open" }), InvalidArgument);
});

test("every kind of part travels, and what was read can be sent again", async () => {
  const { workingMemoryId } = await context.records.insert({ name: "plan", memoryType: "data/json", content: { a: 1 } });
  const block = { provider: "anthropic", data: Uint8Array.of(0, 255), dataJson: "", text: "thinking" };
  const parts: PartInput[] = [
    { text: "see", mediaType: "text/markdown", metadata: { index: false } },
    { data: null },
    { workingMemoryId },
    { url: "https://example.com/a.png", fileName: "a.png" },
    { toolCall: { id: "c-1", name: "search", arguments: { q: "ü" } } },
    { toolCall: { id: "c-2", name: "search", arguments: '{"q": 1}' } },
    { toolResult: { toolCallId: "c-1", content: ["found"], isError: true } },
    { reasoning: block },
  ];

  const { contextId, messageId } = await context.contexts.send({ role: "assistant", parts });
  const read = (await context.contexts.getMessage(contextId, messageId)).parts;

  assert.deepEqual(
    read.map(({ kind }) => kind),
    ["text", "data", "workingMemoryId", "url", "toolCall", "toolCall", "toolResult", "reasoning"],
  );
  assert.deepEqual([read[0]?.text, read[0]?.mediaType, read[0]?.metadata], ["see", "text/markdown", { index: false }]);
  assert.deepEqual([read[1]?.data, read[4]?.toolCall?.arguments, read[5]?.toolCall?.arguments], [null, { q: "ü" }, { q: 1 }]);
  assert.deepEqual(read[6]?.toolResult, { toolCallId: "c-1", content: ["found"], isError: true });
  assert.deepEqual({ ...read[7]?.reasoning, data: Uint8Array.from(read[7]!.reasoning!.data) }, block);
  const again = await context.contexts.send({ role: "assistant", parts: read }, { contextId });
  assert.deepEqual((await context.contexts.getMessage(contextId, again.messageId)).parts, read);
});

test("a part has one content, and what cannot travel is refused by its place", async () => {
  const refused = (parts: PartInput[], field: string) =>
    assert.rejects(context.contexts.send({ parts }), (error: InvalidArgument) => {
      assert.deepEqual([error.name, error.metadata.field ?? error.violations[0]?.field], ["InvalidArgument", field]);
      return true;
    });

  await refused([{ text: "a" }, {}], "message.parts[1]");
  await refused([{ text: "a", url: "b" }], "message.parts[0]");
  await refused([{ data: Number.NaN }], "message.parts[0].data_json");
  await refused([{ data: { "\ud83d": 1 } }], "message.parts[0].data_json");
  await refused([{ text: "a cat \u{1f408}" }, { text: "half of it \ud83d" }], "message.parts[1].text");
});

test("secrets are named by their places, and a standalone message leaves nothing", async () => {
  const parts = [{ text: "a" }, { data: { type: "token", value: "t" } }];

  const sent = await context.contexts.send({ parts }, { standalone: true });

  assert.deepEqual([sent.contextId, sent.createdAt, sent.redactedParts], ["", "", [1]]);
});

test("a context of an id of one's own is made once, changed, and closed", async () => {
  const getOrCreate = { system: "threads", id: newId() };
  const first = await context.contexts.send({ content: "a", messageId: "m" }, { getOrCreate });
  const [second] = await context.contexts.append(["b"], { getOrCreate });
  const { contextId } = first;
  assert.deepEqual([first.created, second?.created, second?.contextId], [true, false, contextId]);

  const thread = context.contexts.handle(contextId);
  const changed = await thread.update({ title: "t", metadata: { n: 1 } });
  assert.deepEqual([changed.title, changed.metadata], ["t", { n: 1 }]);
  const emptied = await thread.update({ title: "", expiresAt: "" });
  assert.deepEqual([emptied.title, emptied.metadata, emptied.expiresAt], ["", { n: 1 }, ""]);

  await assert.rejects(thread.send({ content: "other", messageId: "m" }), MessageExists);
  assert.equal(await thread.retractMessages(["m"]), 1);
  assert.equal(await thread.retractMessages(["m"]), 0);
  await assert.rejects(thread.getMessage("m"), MessageNotFound);
  assert.equal((await thread.close()).state, "closed");
  await assert.rejects(thread.send("x"), ContextClosed);
});

test("a history of the graph is synced, and what is new in it", async () => {
  const getOrCreate = { system: "graph", id: newId() };
  const node = { externalId: getOrCreate.id };
  await entities.graph.appendMessage(node, { role: "user", content: "Hello", create: true });
  const synced = await context.contexts.syncHistory(node, { getOrCreate });
  assert.deepEqual([synced.created, synced.appendedCount, synced.unchangedCount], [true, 1, 0]);
  await entities.graph.appendMessage(node, { role: "assistant", content: "Hi" });
  const again = await context.contexts.syncHistory(node, { contextId: synced.contextId });
  assert.deepEqual([again.contextId, again.created, again.appendedCount], [synced.contextId, false, 1]);
});

test("what is another's or not there is not found", async () => {
  const { contextId } = await context.contexts.send("x", { subjectUserId: "ada" });
  const bob = { subjectUserId: "bob" };

  assert.equal((await context.contexts.get(contextId, { subjectUserId: "ada" })).context.ownerUserId, "ada");
  await assert.rejects(context.contexts.get(newId()), ContextNotFound);
  await withContext({ apiKey: OTHER_KEY }, (other) => assert.rejects(other.contexts.get(contextId), ContextNotFound));
  for (const call of [
    () => context.contexts.send("x", { contextId, ...bob }),
    () => context.contexts.append(["x"], { contextId, ...bob }),
    () => context.contexts.recall(contextId, "x", bob),
    () => context.contexts.search(contextId, "x", bob),
    () => context.contexts.get(contextId, bob),
    () => context.contexts.update(contextId, { title: "t", ...bob }),
    () => context.contexts.close(contextId, bob),
    async () => await context.contexts.listMessages(contextId, bob),
    () => context.contexts.getMessage(contextId, "m", bob),
    () => context.contexts.retractMessages(contextId, ["m"], bob),
    () => context.contexts.issueKey(contextId, bob),
  ]) {
    await assert.rejects(call, ContextNotFound);
  }
  assert.ok((await context.contexts.list(bob)).every((one) => one.contextId !== contextId));
});

test("what matters is recalled within a budget, and found by its words", async () => {
  const cat = { content: "The cat is black.", name: "Ann", messageId: "cat", saidAt: "2026-01-02T03:04:05Z" };
  const record = { parts: [{ data: { animal: "cat" } }], role: "assistant" as const };
  const [sent] = await context.contexts.append([cat, "It rains.", record]);
  const contextId = sent!.contextId;

  const recalled = await context.contexts.recall(contextId, "Is the cat grey?", { tokensMax: 500, withFeatures: true });
  const item = recalled.items.find(({ seq }) => seq === 1)!;
  assert.deepEqual([item.ref, item.kind, item.messageId, item.role, item.name], ["m1.0", "text", "cat", "user", "Ann"]);
  assert.deepEqual([item.text, item.saidAt], ["The cat is black.", "2026-01-02T03:04:05.000000Z"]);
  const shares = Object.values(item.features).reduce((sum, share) => sum + share, 0);
  assert.ok(item.score > 0 && Math.abs(shares - item.score) < 1e-9);
  assert.match(recalled.promptText, /> The cat is black\./);
  assert.ok(0 < recalled.tokens && recalled.tokens <= 500);
  assert.deepEqual([recalled.leftOutCount, recalled.error], [0, ""]);

  const seqs = (found: { seq: number }[]) => found.map(({ seq }) => seq).sort();
  const found = (filter: RecallFilter) => context.contexts.search(contextId, "cat", { filter });
  assert.deepEqual(seqs(await found({})), [1, 3]);
  assert.deepEqual(seqs(await found({ roles: ["user"] })), [1]);
  assert.deepEqual(seqs(await found({ kinds: ["data"] })), [3]);
  assert.deepEqual(await found({ entityNodeIds: [randomUUID()] }), []);
  assert.deepEqual(seqs(await found({ authors: ["Ann"], saidTo: "2026-01-03T00:00:00Z" })), [1]);
  assert.deepEqual(seqs(await found({ seqFrom: 2, seqTo: 3, saidFrom: "2026-01-03T00:00:00Z" })), [3]);
  assert.equal((await context.contexts.search(contextId, "cat", { limit: 1 })).length, 1);
  assert.deepEqual(seqs((await context.contexts.recall(contextId, "cat", { notAfterSeq: 1 })).items), [1]);
  await assert.rejects(context.contexts.recall(contextId, "cat", { profile: "none of them" }), InvalidArgument);
  await assert.rejects(context.contexts.recall(contextId, "cat", { notAfterSeq: 0.5 }), InvalidArgument);
});

test("a message comes back with what matters to it", async () => {
  const first = await context.contexts.send("The cat is black.");
  const { contextId } = first;
  const recalled = async (content: string, options: { recall?: RecallOptions | false } = {}, role?: "assistant") =>
    (await context.contexts.send({ content, role }, { contextId, ...options })).recalled?.items.map(({ text }) => text);

  assert.equal(first.recalled, undefined);
  assert.deepEqual(await recalled("Is the cat grey?"), ["The cat is black."]);
  assert.equal(await recalled("Is the cat grey?", { recall: false }), undefined);
  assert.equal(await recalled("No cat is grey.", {}, "assistant"), undefined);
  const recall = { tokensMax: 500, filter: { seqTo: 1 } };
  assert.deepEqual(await recalled("No cat at all.", { recall }, "assistant"), ["The cat is black."]);
});

test("a key of a context is made, and says until when it holds", async () => {
  const { contextId } = await context.contexts.send("x");

  const { key, expiresAt } = await context.contexts.issueKey(contextId, { scopes: ["read"], ttlS: 60 });

  assert.ok(key);
  const leftMs = Date.parse(expiresAt) - Date.now();
  assert.ok(0 < leftMs && leftMs <= 61_000, expiresAt);
});

test("who waits for the index learns how far it is", async () => {
  const { contextId } = await context.contexts.send("The lever is behind the clock.");

  const index = await context.contexts.waitForIndex(contextId, { waitS: 1 });

  assert.deepEqual([index.passageCount, index.indexedCount, index.pendingCount, index.oldestPendingAt], [1, 0, 0, ""]);
  assert.deepEqual((await context.contexts.get(contextId)).context.index, index);
});

test("a context is deleted for good, and the receipt says how far that is", async () => {
  const { contextId } = await context.contexts.send("Hello");

  const receipt = await context.contexts.delete(contextId, { now: true });

  assert.deepEqual([receipt.contextId, receipt.messageCount], [contextId, 1]);
  await assert.rejects(context.contexts.get(contextId), ContextNotFound);
  assert.equal((await context.contexts.delete(contextId)).erasureId, receipt.erasureId);
  let erasure = receipt;
  while (erasure.state === "running") erasure = await context.contexts.getErasure(receipt.erasureId);
  assert.deepEqual([erasure.state, erasure.messagesRemoved, erasure.finishedAt > erasure.createdAt], ["finished", 1, true]);
  await assert.rejects(context.contexts.getErasure(newId()), ErasureNotFound);
});
