import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import {
  BudgetTooSmall,
  CheckpointNotFound,
  FoldNotPrepared,
  FoldStale,
  InvalidArgument,
  LogMoved,
  PinNotFound,
  type StateEntryInput,
  TokensSpent,
  WindowClosed,
  WindowNotFound,
  newId,
} from "contextkeep";

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

test("bills teach how counts meet them", async () => {
  const { contextId } = await context.contexts.send("Hello");
  const window = await context.windows.open(contextId, "of TypeScript alone", { contextTokens: 9_000 });
  const { epoch, tokens: packTokens } = await context.windows.pack(window.windowId);
  const billed = { inputTokens: 3 * packTokens, cachedTokens: packTokens, outputTokens: 1, epoch, packTokens };

  await context.windows.recordUsage(window.windowId, billed);
  assert.deepEqual(await context.windows.recordUsage(window.windowId, billed), { tokenFactor: 2, typicalFactor: 1, isClamped: true });
  assert.equal((await context.windows.get(window.windowId)).tokenFactor, 2);
  await assert.rejects(context.windows.recordUsage(window.windowId, { inputTokens: 1, cachedTokens: 2 }), InvalidArgument);

  const { usage, levels, breaks } = await context.windows.stats(window.windowId);
  assert.deepEqual([usage.callCount, usage.cachedTokens, levels[0]!.zone, breaks], [2n, BigInt(2 * packTokens), "verbatim", {}]);
  const { ahead, folds } = await context.windows.estimateCost(window.windowId, { steps: 3, stepTokens: 10 });
  assert.deepEqual([ahead.writtenTokens, folds], [30n, 0]);
});

test("a fold is prepared and committed", async () => {
  const { contextId } = await context.contexts.send("Look around.");
  const { windowId } = await context.windows.open(contextId, "gpt-5");
  await assert.rejects(context.windows.commitFold(windowId), FoldNotPrepared);
  const content = Array.from({ length: 300 }, (_, n) => `row ${n} of a long listing`).join("\n");
  for (let n = 0; n < 12; n++) {
    const call = { role: "assistant" as const, parts: [{ toolCall: { id: `c${n}`, name: "look", arguments: {} } }] };
    const result = { role: "tool" as const, parts: [{ toolResult: { toolCallId: `c${n}`, content } }] };
    await context.contexts.append([call, result], { contextId });
  }
  const { maskedSteps, preparedLastSeq } = await context.windows.prepareFold(windowId, { expectedEpoch: 0 });
  const done = await context.windows.commitFold(windowId, { expectedEpoch: 0 });
  assert.deepEqual([done.reason, done.epoch, done.preparedLastSeq], ["prepared", 1, preparedLastSeq]);
  assert.deepEqual(done.maskedSteps, maskedSteps);
  await assert.rejects(context.windows.commitFold(windowId), FoldStale);
});

test("a window goes back to what it was, and the log keeps what is left out", async () => {
  const { contextId } = await context.contexts.send("Hello");
  const { windowId } = await context.windows.open(contextId, "gpt-5");
  const before = await context.windows.pack(windowId);
  const made = await context.windows.createCheckpoint(windowId, { label: "here" });
  await context.contexts.send("Nonsense.", { contextId });
  const { lastSeq } = await context.windows.pack(windowId);

  assert.deepEqual(await context.windows.listCheckpoints(windowId), [made]);
  await assert.rejects(context.windows.rollback(windowId, made.number, 1n), LogMoved);
  await assert.rejects(context.windows.rollback(windowId, 9, lastSeq), CheckpointNotFound);
  const done = await context.windows.rollback(windowId, made.number, lastSeq);
  assert.deepEqual([done.leftOutMessageCount, done.leftOutMessageIds.length, done.receipt.leftOutRefs], [1n, 1, ["m2"]]);
  assert.equal((await context.windows.pack(windowId)).messagesJson, before.messagesJson);
  assert.deepEqual((await context.windows.get(windowId)).leftOutRefs, ["m2"]);
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

test("whoever knows how steps ended says so", async () => {
  const { contextId } = await context.contexts.send("Hello");
  const { windowId } = await context.windows.open(contextId, "gpt-5");
  assert.deepEqual(await context.windows.recordOutcome(windowId, true, { quality: 0.5 }), { stepFrom: 1, stepTo: 1 });
  await assert.rejects(context.windows.recordOutcome(windowId, false, { stepTo: 2 }), InvalidArgument);
});

test("a part of the work is done in a fork, and comes back once", async () => {
  const { contextId } = await context.contexts.send("Never open port 80.");
  const { windowId } = await context.windows.open(contextId, "gpt-5");
  const { window, ref, key } = await context.windows.fork(windowId, "Which ports are open?", { inherits: "pins", tools: [{ name: "look" }] });
  assert.deepEqual([ref, window.goal, window.tools, typeof key!.key], ["f1", "Which ports are open?", [{ name: "look" }], "string"]);
  await context.contexts.send({ content: "Port 443 is.", role: "assistant" }, { contextId: window.contextId });
  const merged = await context.windows.merge(window.windowId, { tokensMax: 200 });
  assert.deepEqual(await context.windows.merge(window.windowId), merged);
  assert.deepEqual([merged.contextId, merged.ref, merged.forkRef, merged.isWhole], [contextId, "m2", "f1", true]);
  assert.deepEqual((await context.windows.get(windowId)).forks!.map((one) => [one.ref, one.mergedRef]), [["f1", "m2"]]);
  assert.deepEqual((await context.contexts.get(window.contextId)).context.ancestorIds, [contextId]);
  await assert.rejects(context.windows.merge(windowId), InvalidArgument);
});

test("windows are listed, and a closed one packs no more", async () => {
  const { contextId } = await context.contexts.send("Hello");
  const [one, another] = [await context.windows.open(contextId, "gpt-5"), await context.windows.open(contextId, "gemini-2.5-pro")];

  assert.deepEqual(await context.windows.list(contextId, { pageSize: 1 }), [{ ...another }, { ...one }]);
  assert.equal((await context.windows.close(one.windowId)).isClosed, true);
  await assert.rejects(context.windows.pack(one.windowId), WindowClosed);
  await assert.rejects(context.windows.pack(newId()), WindowNotFound);
});

test("what stands in front of all is changed, and texts are pinned behind it", async () => {
  const { contextId } = await context.contexts.send("Hello");
  const { windowId } = await context.windows.open(contextId, "gpt-5", { systemPrompt: "Be brief.", tools: [{ name: "look" }] });

  const changed = await context.windows.update(windowId, { goal: "Find it.", tools: [] });
  assert.deepEqual([changed.systemPrompt, changed.goal, changed.tools, changed.epoch], ["Be brief.", "Find it.", [], 1]);
  const pinId = await context.windows.pin(windowId, { text: "In French." });
  await context.windows.pin(windowId, { ref: "m1" });
  const pins = await context.windows.getState(windowId, { sections: ["pin"] });
  assert.deepEqual(pins.map(({ text, ref, source }) => [text, ref, source]), [["In French.", "", "caller"], ["Hello", "m1", "caller"]]);
  await context.windows.unpin(windowId, pinId);
  await assert.rejects(context.windows.unpin(windowId, pinId), PinNotFound);
  const reasons = (await context.windows.getLineage(windowId)).map(({ reason }) => reason);
  assert.deepEqual(reasons, ["unpinned", "pinned", "pinned", "updated"]);
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

test("a budget and a config are changed", async () => {
  const { contextId } = await context.contexts.send("Hello");
  const { windowId } = await context.windows.open(contextId, "mine", { contextTokens: 10_000, config: { lowMark: 0.2 } });

  const changed = await context.windows.update(windowId, { tokenBudget: 0.5, config: { keepLastSteps: 3 } });
  assert.deepEqual([changed.tokenLimit, changed.config.keepLastSteps, changed.config.lowMark, changed.epoch], [5_000, 3, 0.2, 0]);
  assert.equal((await context.windows.update(windowId, { tokenBudget: 0, outputReservation: 9_000 })).tokenLimit, 1_000);
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

test("a budget that is too small, and a model that nobody knows, are refused", async () => {
  const { contextId } = await context.contexts.send("lorem ipsum ".repeat(500));

  await assert.rejects(context.windows.open(contextId, "nobody's"), InvalidArgument);
  const window = await context.windows.open(contextId, "nobody's", { contextTokens: 500, tokenBudget: 1, outputReservation: 1 });
  await assert.rejects(context.windows.pack(window.windowId), (error: BudgetTooSmall) => {
    assert.ok(error instanceof BudgetTooSmall);
    return Number(error.metadata["least"]) > 500;
  });
});

test("a window has the config that it was told and the defaults, and packs no more when its tokens are spent", async () => {
  const { contextId } = await context.contexts.send("word ".repeat(90));
  const config = { tierRatios: { hot: 0.3 }, lowMark: 0, maxTotalTokens: 200, cacheTtlS: 0 };

  const window = await context.windows.open(contextId, "gpt-5", { config });
  const { wrapUp, tokens } = await context.windows.pack(window.windowId);

  assert.deepEqual(window.config.tierRatios, { hot: 0.3, segments: 0.14, digests: 0.14, state: 0.07 });
  const { lowMark, highMark, maxTotalTokens, cacheTtlS } = window.config;
  assert.deepEqual([lowMark, highMark, maxTotalTokens, cacheTtlS], [0, 0.97, 200, 0]);
  assert.deepEqual([wrapUp, (await context.windows.get(window.windowId)).spentTokens], [true, tokens]);
  await context.contexts.send("More.", { contextId });
  await assert.rejects(context.windows.pack(window.windowId), TokensSpent);
  await assert.rejects(context.windows.open(contextId, "gpt-5", { config: { keepLastSteps: 0 } }), InvalidArgument);
});

test("learning is frozen, and undone", async () => {
  const appId = `app-${newId()}`;
  const frozen = await context.profiles.setLearning("coding", { appId, isFrozen: true });
  assert.deepEqual([frozen.profile, frozen.appId, frozen.isFrozen, frozen.version], ["coding", appId, true, 0]);
  const undone = await context.profiles.setLearning("coding", { appId, isFrozen: false, undo: true });
  assert.deepEqual([undone.isFrozen, undone.contextCount], [false, 0]);
});

test("a profile is put, and listed with its versions", async () => {
  const name = `mine-${newId()}`;
  for (const text of ["extends: coding", "extends: general"]) await context.profiles.put(name, text);

  const listed = await context.profiles.list({ name, withText: true, pageSize: 1 });

  assert.deepEqual(listed.map(({ version, text }) => [version, text]), [[2, "extends: general"], [1, "extends: coding"]]);
  const [coding] = await context.profiles.list({ name: "coding" });
  assert.deepEqual([coding?.version, coding?.isBuiltIn, coding?.createdAt], [0, true, ""]);
  await assert.rejects(context.profiles.put(name, "extends: nobody"), InvalidArgument);
});
