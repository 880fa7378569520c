import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";

import { LogMoved, type StateEntryInput } from "contextkeep";

import { context } from "./stack.js";

test("a window packs what a model shall see, and each pack begins with the one before", async () => {
  const { contextId } = await context.contexts.send("Hello");
  const tools = [{ name: "look" }];

  const window = await context.windows.open(contextId, "claude-sonnet-4-5", { systemPrompt: "Be brief.", tools, goal: "Find it." });
  const first = await context.windows.pack(window.windowId);
  await context.contexts.send({ content: "Hello yourself", role: "assistant" }, { contextId });
  const second = await context.windows.pack(window.windowId);

  assert.deepEqual([window.format, window.tokensFamily, window.tokenLimit, window.tools], ["anthropic", "claude", 160_000, tools]);
  assert.deepEqual(second.body["tools"], tools);
  assert.deepEqual(second.breakpoints, [{ pointer: "/messages/1/content/0", zone: "verbatim", tokens: second.tokens }]);
  assert.deepEqual([second.stepCount, second.lastSeq, second.epoch, second.isWaiting], [2, 2n, 0, false]);
  assert.equal(second.tokens, second.tokensByZone.system + second.tokensByZone.verbatim);
  const bytes = Buffer.from(second.messagesJson).subarray(0, first.prefixBytes);
  assert.equal(createHash("sha256").update(bytes).digest("hex"), first.prefixSha);
  for (const since of [first, second]) assert.deepEqual(await context.windows.pack(window.windowId, { since }), second);
  const { reachedSeq, stepCount } = await context.windows.get(window.windowId);
  assert.deepEqual([reachedSeq, stepCount], [2n, 2]);
});

test("a window packs messages in the format that it is told", async () => {
  const { contextId } = await context.contexts.send("Hello");
  for (const [format, field] of [["openai", "messages"], ["openaiResponses", "input"], ["gemini", "contents"]] as const) {
    const window = await context.windows.open(contextId, "claude-sonnet-4-5", { format });
    assert.equal(window.format, format);
    assert.ok(field in (await context.windows.pack(window.windowId)).body);
  }
});

/** Return a picture of so many bytes: the head of a PNG of 40 x 30 pixels, and noise. */
function picture(sizeBytes: number): Buffer {
  const head = Buffer.from("89504e470d0a1a0a0000000d49484452000000280000001e0802000000", "hex");
  return Buffer.concat([head, randomBytes(sizeBytes - head.length)]);
}

/** Return the sha256 of each picture in a body. */
function picturesIn(value: unknown): string[] {
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(picturesIn);
  const base64 = typeof value === "string" ? value.slice(value.indexOf(";base64,") + 1).replace("base64,", "") : "";
  return base64.startsWith("iVBORw0KGgo") ? [sha256Of(Buffer.from(base64, "base64"))] : [];
}

const sha256Of = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

test("a pack has the bytes of its files, of any size, in each format and in all roles", async () => {
  const [ofUser, ofTool, ofAssistant] = [100, 1_000_000, 3_900_000].map(picture);
  const toolCall = { id: "c", name: "look", arguments: {} };
  const { contextId } = await context.contexts.send({ content: "Größe?", parts: [{ file: { data: ofUser! } }] });
  await context.contexts.send({ role: "assistant", parts: [{ toolCall }] }, { contextId });
  const toolResult = { toolCallId: "c", content: "taken", files: [{ data: ofTool! }] };
  await context.contexts.send({ role: "tool", parts: [{ toolResult }] }, { contextId });
  await context.contexts.send({ role: "assistant", parts: [{ file: { data: ofAssistant! } }] }, { contextId });
  const expected = [ofUser!, ofTool!, ofAssistant!].map(sha256Of).sort();
  for (const [format, model] of [["openai", "gpt-5"], ["openaiResponses", "gpt-5"], ["anthropic", "claude-sonnet-4-6"], ["gemini", "gemini-3-pro"]] as const) {
    const { windowId } = await context.windows.open(contextId, model, { format });
    const pack = await context.windows.pack(windowId);
    assert.deepEqual(picturesIn(pack.body).sort(), expected, format);
    assert.deepEqual(picturesIn(JSON.parse(pack.messagesJson)), [], "the form that the prefix counts has no bytes");
    const chunks: Uint8Array[] = [];
    for await (const chunk of context.windows.packBody(windowId)) chunks.push(chunk);
    assert.deepEqual(JSON.parse(Buffer.concat(chunks).toString()), pack.body);
    assert.deepEqual(await context.windows.pack(windowId, { since: pack }), pack);
  }
});

test("a file expands whole, however many answers it takes", async () => {
  const whole = picture(4_500_000);
  const { contextId } = await context.contexts.send({ parts: [{ file: { data: whole } }] });
  const { windowId } = await context.windows.open(contextId, "gpt-5");
  const original = await context.windows.expand(windowId, "m1/1");
  assert.equal(sha256Of(original.content), sha256Of(whole));
  assert.deepEqual([original.sizeBytes, original.mediaType, original.sha256], [whole.length, "image/png", sha256Of(whole)]);
});

test("a response that is of no use takes back what led to it", async () => {
  const { contextId } = await context.contexts.send("Hello");
  const { windowId } = await context.windows.open(contextId, "gpt-5", { config: { recoveryStrategy: "reread_from_checkpoint" } });
  const pack = await context.windows.pack(windowId);
  assert.equal(await context.windows.reportResponse(windowId, pack, false), undefined);
  await context.contexts.send({ content: "Nonsense.", role: "assistant" }, { contextId });
  await assert.rejects(context.windows.reportResponse(windowId, pack, true), LogMoved);
  const recovered = await context.windows.reportResponse(windowId, pack, true, { expectedLastSeq: 2n });
  assert.equal(recovered!.pack.messagesJson, pack.messagesJson);
  assert.deepEqual(recovered!.rolledBack!.receipt.leftOutRefs, ["m2"]);
  assert.deepEqual(await context.windows.reportResponse(windowId, pack, true), { pack: recovered!.pack });
});

test("what changes of a window is watched", async () => {
  const { contextId } = await context.contexts.send("The staging port is 8443.");
  const { windowId } = await context.windows.open(contextId, "gpt-5");

  const told: string[] = [];
  for await (const event of context.windows.watch(windowId)) {
    told.push(event.broken?.reason ?? event.entry?.section ?? (event.window!.isClosed ? "closed" : `up to ${event.window!.reachedSeq}`));
    if (told.length === 1) await context.windows.pack(windowId);
    if (told.length === 3) await context.windows.update(windowId, { systemPrompt: "Be brief." });
    if (told.length === 5) await context.windows.close(windowId);
  }
  const later = [];
  for await (const event of context.windows.watch(windowId, { epochAfter: 1, entryFrom: 1, untilNow: true })) later.push(event);

  assert.deepEqual(told, ["up to 0", "value", "up to 1", "updated", "up to 1", "closed"]);
  assert.deepEqual(later.map(({ window, epochAfter, entryFrom }) => [window!.isClosed, epochAfter, entryFrom]), [[true, 1, 1]]);
});

test("callers say what holds", async () => {
  const { contextId } = await context.contexts.send("The staging port is 8443.");
  const window = await context.windows.open(contextId, "gpt-5");
  assert.deepEqual(await window.get(), { ...window, forks: [] }); // the handle adds methods alone

  const set: StateEntryInput[] = [{ section: "value", key: "staging port", value: "9001" }, { section: "sub_goal", key: "1", text: "Look." }];
  assert.equal(await window.patchState({ set }), 2);
  assert.match((await window.pack()).messagesJson, /staging port: 9001/);
  assert.equal(await window.patchState({ remove: [set[0]!] }), 1);
  const entries = await context.windows.handle(window.windowId).getState();
  assert.deepEqual(entries.map(({ section, value, source }) => [section, value, source]), [["sub_goal", "open", "caller"]]);
});
