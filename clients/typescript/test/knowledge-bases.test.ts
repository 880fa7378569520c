import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";

import { DocumentNotFound, InvalidArgument, KnowledgeBaseNotFound, newId } from "contextkeep";

import { context } from "./stack.js";

test("a document is added, read, found and removed", async () => {
  const name = `ferries ${newId()}`;
  const base = await context.knowledgeBases.put(name, { description: "Ferries", isOfTenant: true });
  assert.deepEqual([base.version, base.isOfTenant, base.documents], [1, true, {}]);
  const added = await context.knowledgeBases.addDocument(name, { data: Buffer.from("The ferry leaves at six."), name: "a.md", uri: "https://ferries.example" });
  assert.deepEqual([added.state, added.sizeBytes, added.knowledgeBase], ["queued", 24, name]);
  for (let tries = 0; (await context.knowledgeBases.get(name)).documents.indexed !== 1 && tries < 400; tries++) await setTimeout(50);
  const found = await context.knowledgeBases.listDocuments(name, { states: ["indexed"] });
  assert.deepEqual(found.map((one) => [one.documentId, one.passageCount]), [[added.documentId, 1]]);
  const answer = await context.query.ask("When does the ferry leave?", { providers: { ids: ["knowledge-base"] } });
  assert.equal(answer.hits[0]?.title, "a.md");

  const record = await context.records.insert({ name: "b.md", memoryType: "file", contentText: "The other ferry." });
  const followed = await context.knowledgeBases.addDocument(name, { workingMemoryId: record.workingMemoryId });
  assert.deepEqual([followed.name, followed.workingMemoryId], ["b.md", record.workingMemoryId]);
  await assert.rejects(context.knowledgeBases.addDocument(name, {}), InvalidArgument);
  await context.knowledgeBases.removeDocument(name, followed.documentId);
  await assert.rejects(context.knowledgeBases.removeDocument(name, followed.documentId), DocumentNotFound);
  assert.ok((await context.knowledgeBases.list({ pageSize: 1 })).some((one) => one.name === name));
  await context.knowledgeBases.delete(name);
  await assert.rejects(context.knowledgeBases.get(name), KnowledgeBaseNotFound);
});
