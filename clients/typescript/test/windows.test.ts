import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { BudgetTooSmall, InvalidArgument, PinNotFound, TokensSpent, WindowClosed, WindowNotFound, newId } from "contextkeep";

import { context } from "./stack.js";

test("a window packs what a model shall see, and each pack begins with the one before", async () => {
  const { contextId } = await context.sendMessage("Hello");
  const tools = [{ name: "look" }];

  const window = await context.openWindow(contextId, "claude-sonnet-4-5", { systemPrompt: "Be brief.", tools, goal: "Find it." });
  const first = await context.pack(window.windowId);
  await context.sendMessage({ content: "Hello yourself", role: "assistant" }, { contextId });
  const second = await context.pack(window.windowId);

  assert.deepEqual([window.format, window.tokensFamily, window.tokenLimit, window.tools], ["anthropic", "claude", 160_000, tools]);
  assert.deepEqual(second.body["tools"], tools);
  assert.deepEqual([second.stepCount, second.lastSeq, second.epoch, second.isWaiting], [2, 2n, 0, false]);
  assert.equal(second.tokens, second.tokensByZone.system + second.tokensByZone.verbatim);
  const bytes = Buffer.from(second.messagesJson).subarray(0, first.prefixBytes);
  assert.equal(createHash("sha256").update(bytes).digest("hex"), first.prefixSha);
  for (const since of [first, second]) assert.deepEqual(await context.pack(window.windowId, { since }), second);
  const { reachedSeq, stepCount } = await context.getWindow(window.windowId);
  assert.deepEqual([reachedSeq, stepCount], [2n, 2]);
});

test("a window packs messages in the format that it is told", async () => {
  const { contextId } = await context.sendMessage("Hello");
  for (const [format, field] of [["openai", "messages"], ["openaiResponses", "input"], ["gemini", "contents"]] as const) {
    const window = await context.openWindow(contextId, "claude-sonnet-4-5", { format });
    assert.equal(window.format, format);
    assert.ok(field in (await context.pack(window.windowId)).body);
  }
});

test("bills teach how counts meet them", async () => {
  const { contextId } = await context.sendMessage("Hello");
  const window = await context.openWindow(contextId, "of TypeScript alone", { contextTokens: 9_000 });
  const { epoch, tokens: packTokens } = await context.pack(window.windowId);
  const billed = { inputTokens: 3 * packTokens, cachedTokens: packTokens, outputTokens: 1, epoch, packTokens };

  await context.recordUsage(window.windowId, billed);
  assert.deepEqual(await context.recordUsage(window.windowId, billed), { tokenFactor: 2, typicalFactor: 1, isClamped: true });
  assert.equal((await context.getWindow(window.windowId)).tokenFactor, 2);
  await assert.rejects(context.recordUsage(window.windowId, { inputTokens: 1, cachedTokens: 2 }), InvalidArgument);

  const { usage, levels, breaks } = await context.windowStats(window.windowId);
  assert.deepEqual([usage.callCount, usage.cachedTokens, levels[0]!.zone, breaks], [2n, BigInt(2 * packTokens), "verbatim", {}]);
  const { ahead, folds } = await context.estimateCost(window.windowId, { steps: 3, stepTokens: 10 });
  assert.deepEqual([ahead.writtenTokens, folds], [30n, 0]);
});

test("windows are listed, and a closed one packs no more", async () => {
  const { contextId } = await context.sendMessage("Hello");
  const [one, another] = [await context.openWindow(contextId, "gpt-5"), await context.openWindow(contextId, "gemini-2.5-pro")];

  assert.deepEqual(await context.listWindows(contextId, { pageSize: 1 }), [another, one]);
  assert.equal((await context.closeWindow(one.windowId)).isClosed, true);
  await assert.rejects(context.pack(one.windowId), WindowClosed);
  await assert.rejects(context.pack(newId()), WindowNotFound);
});

test("what stands in front of all is changed, and texts are pinned behind it", async () => {
  const { contextId } = await context.sendMessage("Hello");
  const { windowId } = await context.openWindow(contextId, "gpt-5", { systemPrompt: "Be brief.", tools: [{ name: "look" }] });

  const changed = await context.updateWindow(windowId, { goal: "Find it.", tools: [] });
  assert.deepEqual([changed.systemPrompt, changed.goal, changed.tools, changed.epoch], ["Be brief.", "Find it.", [], 1]);
  const pinId = await context.pin(windowId, "In French.");
  await context.pin(windowId, { ref: "m1" });
  const pins = await context.getState(windowId, { sections: ["pin"] });
  assert.deepEqual(pins.map(({ text, ref, source }) => [text, ref, source]), [["In French.", "", "caller"], ["Hello", "m1", "caller"]]);
  await context.unpin(windowId, pinId);
  await assert.rejects(context.unpin(windowId, pinId), PinNotFound);
  const reasons = (await context.getLineage(windowId)).map(({ reason }) => reason);
  assert.deepEqual(reasons, ["unpinned", "pinned", "pinned", "updated"]);
});

test("callers say what holds", async () => {
  const { contextId } = await context.sendMessage("The staging port is 8443.");
  const { windowId } = await context.openWindow(contextId, "gpt-5");

  const set = [{ section: "value", key: "staging port", value: "9001" }, { section: "sub_goal", key: "1", text: "Look." }] as const;
  assert.equal(await context.patchState(windowId, { set }), 2);
  assert.match((await context.pack(windowId)).messagesJson, /staging port: 9001/);
  assert.equal(await context.patchState(windowId, { remove: [set[0]] }), 1);
  const entries = await context.getState(windowId);
  assert.deepEqual(entries.map(({ section, value, source }) => [section, value, source]), [["sub_goal", "open", "caller"]]);
});

test("a budget that is too small, and a model that nobody knows, are refused", async () => {
  const { contextId } = await context.sendMessage("lorem ipsum ".repeat(500));

  await assert.rejects(context.openWindow(contextId, "nobody's"), InvalidArgument);
  const window = await context.openWindow(contextId, "nobody's", { contextTokens: 500, tokenBudget: 1, outputReservation: 1 });
  await assert.rejects(context.pack(window.windowId), (error: BudgetTooSmall) => {
    assert.ok(error instanceof BudgetTooSmall);
    return Number(error.metadata["least"]) > 500;
  });
});

test("a window has the config that it was told and the defaults, and packs no more when its tokens are spent", async () => {
  const { contextId } = await context.sendMessage("word ".repeat(90));
  const config = { tierRatios: { hot: 0.3 }, lowMark: 0, maxTotalTokens: 200 };

  const window = await context.openWindow(contextId, "gpt-5", { config });
  const { wrapUp, tokens } = await context.pack(window.windowId);

  assert.deepEqual(window.config.tierRatios, { hot: 0.3, segments: 0.14, digests: 0.14, state: 0.07 });
  assert.deepEqual([window.config.lowMark, window.config.highMark, window.config.maxTotalTokens], [0, 0.97, 200]);
  assert.deepEqual([wrapUp, (await context.getWindow(window.windowId)).spentTokens], [true, tokens]);
  await context.sendMessage("More.", { contextId });
  await assert.rejects(context.pack(window.windowId), TokensSpent);
  await assert.rejects(context.openWindow(contextId, "gpt-5", { config: { keepLastSteps: 0 } }), InvalidArgument);
});

test("a profile is put, and listed with its versions", async () => {
  const name = `mine-${newId()}`;
  for (const text of ["extends: coding", "extends: general"]) await context.putProfile(name, text);

  const listed = await context.listProfiles({ name, withText: true, pageSize: 1 });

  assert.deepEqual(listed.map(({ version, text }) => [version, text]), [[2, "extends: general"], [1, "extends: coding"]]);
  const [coding] = await context.listProfiles({ name: "coding" });
  assert.deepEqual([coding?.version, coding?.isBuiltIn, coding?.createdAt], [0, true, ""]);
  await assert.rejects(context.putProfile(name, "extends: nobody"), InvalidArgument);
});
