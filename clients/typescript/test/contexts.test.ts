import assert from "node:assert/strict";
import { test } from "node:test";

import {
  ContextClosed,
  ContextNotFound,
  ErasureNotFound,
  InvalidArgument,
  MessageExists,
  MessageNotFound,
  type PartInput,
  newId,
} from "contextkeep";

import { OTHER_KEY, context, withContext } from "./stack.js";

test("a conversation is begun, gone on with, and read", async () => {
  const shop = { system: "shop", id: newId() };

  const first = await context.sendMessage("Hello", {
    context: { title: "support", externalIds: [shop], metadata: { vip: true } },
  });
  const { contextId } = first;
  const more = await context.appendMessages(
    [
      { content: "Hi", role: "agent", agentId: "helper", messageId: "m-2", saidAt: "2026-01-02T03:04:05Z" },
      { content: "Bye", name: "Ann", metadata: { n: 2n ** 60n } },
    ],
    { contextId },
  );
  const { context: header, messages } = await context.getContext(contextId);

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
  assert.deepEqual(await context.getMessage(contextId, "m-2"), messages[1]);
  assert.deepEqual((await context.getContext(contextId, { historyLength: 0 })).messages, []);
  assert.deepEqual(await context.listMessages(contextId, { pageSize: 1 }), messages);
  assert.deepEqual(
    (await context.listMessages(contextId, { seqFrom: 2, newestFirst: true, pageSize: 1 })).map(({ seq }) => seq),
    [3, 2],
  );
});

test("contexts are found by what is said of them, page by page", async () => {
  const externalId = { system: "shop", id: newId() };
  const begun = [];
  for (const n of [0, 1, 2]) {
    const { contextId } = await context.sendMessage("x", { context: { externalIds: [externalId], metadata: { n } } });
    begun.unshift(contextId);
  }
  const ids = (found: { contextId: string }[]) => found.map(({ contextId }) => contextId);

  assert.deepEqual(ids(await context.getContextsByExternalId(externalId, { pageSize: 1 })), begun);
  assert.deepEqual(ids(await context.listContexts({ externalId, state: "open", pageSize: 2 })), begun);
  assert.deepEqual(ids(await context.listContexts({ externalId, metadataContains: { n: 1 } })), [begun[1]]);
  assert.deepEqual(ids(await context.listContexts({ externalId, createdTo: "2026-01-01T00:00:00Z" })), []);
  assert.throws(() => context.listContexts({ state: "gone" as "open" }), InvalidArgument);
});

test("every kind of part travels, and what was read can be sent again", async () => {
  const { workingMemoryId } = await context.insertWMRecord({ name: "plan", memoryType: "data/json", content: { a: 1 } });
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

  const { contextId, messageId } = await context.sendMessage({ role: "assistant", parts });
  const read = (await context.getMessage(contextId, messageId)).parts;

  assert.deepEqual(
    read.map(({ kind }) => kind),
    ["text", "data", "workingMemoryId", "url", "toolCall", "toolCall", "toolResult", "reasoning"],
  );
  assert.deepEqual([read[0]?.text, read[0]?.mediaType, read[0]?.metadata], ["see", "text/markdown", { index: false }]);
  assert.deepEqual([read[1]?.data, read[4]?.toolCall?.arguments, read[5]?.toolCall?.arguments], [null, { q: "ü" }, { q: 1 }]);
  assert.deepEqual(read[6]?.toolResult, { toolCallId: "c-1", content: ["found"], isError: true });
  assert.deepEqual({ ...read[7]?.reasoning, data: Uint8Array.from(read[7]!.reasoning!.data) }, block);
  const again = await context.sendMessage({ role: "assistant", parts: read }, { contextId });
  assert.deepEqual((await context.getMessage(contextId, again.messageId)).parts, read);
});

test("a part has one content, and what cannot travel is refused by its place", async () => {
  const refused = (parts: PartInput[], field: string) =>
    assert.rejects(context.sendMessage({ parts }), (error: InvalidArgument) => {
      assert.deepEqual([error.name, error.metadata.field ?? error.violations[0]?.field], ["InvalidArgument", field]);
      return true;
    });

  await refused([{ text: "a" }, {}], "message.parts[1]");
  await refused([{ text: "a", url: "b" }], "message.parts[0]");
  await refused([{ data: Number.NaN }], "message.parts[0].data_json");
});

test("secrets are named by their places, and a standalone message leaves nothing", async () => {
  const parts = [{ text: "a" }, { data: { type: "token", value: "t" } }];

  const sent = await context.sendMessage({ parts }, { standalone: true });

  assert.deepEqual([sent.contextId, sent.createdAt, sent.redactedParts], ["", "", [1]]);
});

test("a context of an id of one's own is made once, changed, and closed", async () => {
  const getOrCreate = { system: "threads", id: newId() };
  const first = await context.sendMessage({ content: "a", messageId: "m" }, { getOrCreate });
  const [second] = await context.appendMessages(["b"], { getOrCreate });
  const { contextId } = first;
  assert.deepEqual([first.created, second?.created, second?.contextId], [true, false, contextId]);

  const changed = await context.updateContext(contextId, { title: "t", metadata: { n: 1 } });
  assert.deepEqual([changed.title, changed.metadata], ["t", { n: 1 }]);
  const emptied = await context.updateContext(contextId, { title: "", expiresAt: "" });
  assert.deepEqual([emptied.title, emptied.metadata, emptied.expiresAt], ["", { n: 1 }, ""]);

  await assert.rejects(context.sendMessage({ content: "other", messageId: "m" }, { contextId }), MessageExists);
  assert.equal(await context.retractMessages(contextId, ["m"]), 1);
  assert.equal(await context.retractMessages(contextId, ["m"]), 0);
  await assert.rejects(context.getMessage(contextId, "m"), MessageNotFound);
  assert.equal((await context.closeContext(contextId)).state, "closed");
  await assert.rejects(context.sendMessage("x", { contextId }), ContextClosed);
});

test("what is another's or not there is not found", async () => {
  const { contextId } = await context.sendMessage("x", { subjectUserId: "ada" });
  const bob = { subjectUserId: "bob" };

  assert.equal((await context.getContext(contextId, { subjectUserId: "ada" })).context.ownerUserId, "ada");
  await assert.rejects(context.getContext(newId()), ContextNotFound);
  await withContext({ apiKey: OTHER_KEY }, (other) => assert.rejects(other.getContext(contextId), ContextNotFound));
  for (const call of [
    () => context.sendMessage("x", { contextId, ...bob }),
    () => context.appendMessages(["x"], { contextId, ...bob }),
    () => context.getContext(contextId, bob),
    () => context.updateContext(contextId, { title: "t", ...bob }),
    () => context.closeContext(contextId, bob),
    async () => await context.listMessages(contextId, bob),
    () => context.getMessage(contextId, "m", bob),
    () => context.retractMessages(contextId, ["m"], bob),
    () => context.issueContextKey(contextId, bob),
  ]) {
    await assert.rejects(call, ContextNotFound);
  }
  assert.ok((await context.listContexts(bob)).every((one) => one.contextId !== contextId));
});

test("a key of a context is made, and says until when it holds", async () => {
  const { contextId } = await context.sendMessage("x");

  const { key, expiresAt } = await context.issueContextKey(contextId, { scopes: ["read"], ttlS: 60 });

  assert.ok(key);
  const leftMs = Date.parse(expiresAt) - Date.now();
  assert.ok(0 < leftMs && leftMs <= 61_000, expiresAt);
});

test("a context is deleted for good, and the receipt says how far that is", async () => {
  const { contextId } = await context.sendMessage("Hello");

  const receipt = await context.deleteContext(contextId, { now: true });

  assert.deepEqual([receipt.contextId, receipt.messageCount], [contextId, 1]);
  await assert.rejects(context.getContext(contextId), ContextNotFound);
  assert.equal((await context.deleteContext(contextId)).erasureId, receipt.erasureId);
  let erasure = receipt;
  while (erasure.state === "running") erasure = await context.getErasure(receipt.erasureId);
  assert.deepEqual([erasure.state, erasure.messagesRemoved, erasure.finishedAt > erasure.createdAt], ["finished", 1, true]);
  await assert.rejects(context.getErasure(newId()), ErasureNotFound);
});
