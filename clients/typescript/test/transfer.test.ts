import assert from "node:assert/strict";
import { test } from "node:test";

import { ArchiveRefused, ContextNotFound, ImportNotFound, newId } from "contextkeep";

import { context } from "./stack.js";

test("an archive is taken out, and what is there already is not written twice", async () => {
  const { contextId } = await context.contexts.send({ content: "hello" });
  const parts = [];
  for await (const part of context.archives.export({ contextId })) parts.push(part);
  const archive = Buffer.concat(parts.map((part) => part.data));
  assert.notEqual(parts.at(-1)!.resumeToken, "");

  const importId = newId();
  const done = await context.archives.importArchive((offset) => [archive.subarray(offset)], { importId });
  const messages = done.rows.find((row) => row.table === "message")!;
  assert.deepEqual([messages.written, messages.present, messages.conflicts], [0, 1, 0]);
  const kept = await context.archives.getImport(importId);
  assert.deepEqual(kept, { ...done, updatedAt: kept.updatedAt }); // it is let go behind the answer
  assert.deepEqual((done.manifest["scope"] as object), { kind: "context", id: contextId });

  const dry = await context.archives.importArchive(() => [archive], { dryRun: true });
  assert.deepEqual([dry.dryRun, dry.importId, dry.state], [true, "", "done"]);
  await assert.rejects(context.archives.importArchive(() => [archive.subarray(1)]), ArchiveRefused);
  await assert.rejects(context.archives.getImport(newId()), ImportNotFound);
  await assert.rejects(context.archives.export({ contextId: newId() }).next(), ContextNotFound);
});
