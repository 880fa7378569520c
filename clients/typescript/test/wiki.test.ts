import assert from "node:assert/strict";
import { test } from "node:test";

import { PageNotFound, VersionConflict, newId } from "contextkeep";

import { context } from "./stack.js";

test("a page comes back as it was written, version by version", async () => {
  const subjectUserId = newId();
  const memory = await context.memories.retain("Acme pays late.", { subjectUserId });
  const said = { subjectUserId, slug: "customers/acme", aliases: ["Road Runner"], memoryIds: [memory.memoryId] };
  const first = await context.pages.put("Acme", "A customer.", { ...said, sources: [{ label: "CRM" }], freshUntil: "2999-01-01T00:00:00Z" });
  assert.deepEqual([first.version, first.markdown, first.state, first.freshUntil.slice(0, 4)], [1, "", "fresh", "2999"]);
  await context.pages.put("Acme", "A customer no more.", { ...said, expectedVersion: 1 });
  await assert.rejects(context.pages.put("Acme", "Mine.", { ...said, expectedVersion: 1 }), VersionConflict);

  const page = await context.pages.get({ slug: "road runner", subjectUserId });
  assert.deepEqual([page.markdown, page.version, page.memoryIds], ["A customer no more.", 2, [memory.memoryId]]);
  const old = await context.pages.get({ pageId: page.pageId, subjectUserId, version: 1 });
  assert.deepEqual([old.markdown, old.sources[0]?.label, old.state, old.stale], ["A customer.", "CRM", "stale", ["version 2 is newer"]]);
  const versions = await context.pages.listVersions({ slug: "customers/acme", subjectUserId, pageSize: 1 });
  assert.deepEqual(versions.map((one) => one.version), [2, 1]);

  const listed = await context.pages.list({ subjectUserId, slugPrefix: "customers/", memoryId: memory.memoryId });
  assert.deepEqual(listed.map((one) => [one.slug, one.markdown]), [["customers/acme", ""]]);
  await context.pages.delete({ slug: "customers/acme", subjectUserId });
  await assert.rejects(context.pages.get({ pageId: page.pageId, subjectUserId }), PageNotFound);
});
