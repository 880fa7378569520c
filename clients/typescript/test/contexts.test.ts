import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import { InvalidArgument, type PartInput, type RecallOptions } from "contextkeep";

import { context } from "./stack.js";

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
  assert.deepEqual(read[6]?.toolResult, { toolCallId: "c-1", content: ["found"], isError: true, files: [] });
  assert.deepEqual({ ...read[7]?.reasoning, data: Uint8Array.from(read[7]!.reasoning!.data) }, block);
  const again = await context.contexts.send({ role: "assistant", parts: read }, { contextId });
  assert.deepEqual((await context.contexts.getMessage(contextId, again.messageId)).parts, read);
});

test("a file travels with its bytes, and is uploaded first if it is too large for a request", async () => {
  const small = Uint8Array.of(1, 2, 3);
  const large = new Uint8Array(5 * 1024 * 1024).fill(7);
  const parts: PartInput[] = [
    { file: { data: small, name: "a.bin", alt: "three bytes" } },
    { file: { data: large } },
    { file: { url: "https://example.com/a.png", mediaType: "image/png" } },
    { toolResult: { toolCallId: "c", files: [{ data: small }] } },
  ];
  const { contextId, messageId } = await context.contexts.send({ role: "tool", parts });
  const read = (await context.contexts.getMessage(contextId, messageId)).parts;

  const [first, second, third, result] = read;
  assert.deepEqual([first!.file!.name, first!.file!.alt, first!.file!.sizeBytes], ["a.bin", "three bytes", 3]);
  assert.deepEqual([second!.file!.name, second!.file!.sizeBytes], [undefined, large.length]);
  assert.deepEqual(third!.file, { url: "https://example.com/a.png", mediaType: "image/png" });
  assert.equal(result!.toolResult!.files[0]!.workingMemoryId, first!.file!.workingMemoryId);
  assert.deepEqual(await context.blobs.getContent(second!.file!.workingMemoryId!), Buffer.from(large));
  const again = await context.contexts.send({ role: "tool", parts: read }, { contextId });
  assert.deepEqual((await context.contexts.getMessage(contextId, again.messageId)).parts, read);
  await assert.rejects(context.contexts.send({ parts: [{ file: {} }] }), InvalidArgument);
});

test("large files of artifacts and tasks are uploaded first", async () => {
  const data = new Uint8Array(5 * 1024 * 1024).fill(9);
  const { contextId } = await context.contexts.send("Scan it.");
  const message = { role: "assistant" as const, content: "This one?", parts: [{ file: { data } }] };
  const task = await context.tasks.create(contextId, { state: "working", statusMessage: message });
  const shown = task.statusMessage!.parts[0]!.file!;
  const { artifactId } = await context.artifacts.put(task.taskId, { parts: [{ file: { data, name: "scan.bin" } }] });
  const scan = (await context.artifacts.get(task.taskId, artifactId)).parts[0]!.file!;
  assert.deepEqual([shown.sizeBytes, scan.sizeBytes, scan.name], [data.length, data.length, "scan.bin"]);
  assert.equal(scan.workingMemoryId, shown.workingMemoryId);
});

test("a message with a large file is sent again by its request id", async () => {
  const parts: PartInput[] = [{ file: { data: new Uint8Array(4 * 1024 * 1024).fill(5), name: "a.bin" } }];
  const requestId = randomUUID();
  const first = await context.contexts.send({ parts }, { requestId });
  assert.equal((await context.contexts.send({ parts }, { requestId })).messageId, first.messageId);
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
