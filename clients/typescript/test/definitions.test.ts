import assert from "node:assert/strict";
import { test } from "node:test";

import { DefinitionNotFound, type DefinitionRules, InvalidArgument, newId } from "contextkeep";

import { context, entities } from "./stack.js";

test("an approved definition makes a page, which a question finds", async () => {
  const nodeType = `T${newId()}`;
  const rules: DefinitionRules = {
    nodeType,
    title: "entity.name",
    facets: [{ slug: "state", heading: "State", kind: "operational", text: "entity.status", timeToLive: "duration('24h')" }],
  };
  const node = await entities.graph.createNode({ generalTypeName: nodeType, name: "Orrery", status: "Renewing" });
  const tried = await context.definitions.test(rules, node.id);
  assert.deepEqual([tried.page?.title, tried.page?.facets[0]?.text, tried.problems], ["Orrery", "Renewing", []]);

  const put = await context.definitions.put(nodeType, rules);
  assert.deepEqual([put.version, put.state, put.rules], [1, "draft", { ...rules, graphName: "default" }]);
  await context.definitions.approve(nodeType, 1);
  const told = [];
  for await (const one of context.compiledPages.compile({ definitionName: nodeType })) told.push(one);
  assert.deepEqual([told.at(-1)?.isDone, told.at(-1)?.pagesWritten], [true, 1]);

  const [listed] = await context.compiledPages.list({ nodeId: node.id });
  const facet = { slug: "note", text: "Call", heading: "Note", kind: "external", sourceLabel: "Ada" } as const;
  assert.equal((await context.compiledPages.putFacet(listed!.pageId, facet))?.trust, 1);
  const page = await context.compiledPages.get(listed!.pageId);
  assert.deepEqual(page.facets.map((one) => [one.slug, one.trust, one.sources[0]?.nodeId]), [["state", 5, node.id], ["note", 1, ""]]);
  assert.equal(await context.compiledPages.putFacet(page.pageId, { slug: "note" }), undefined);

  assert.equal((await context.definitions.retire(nodeType)).state, "retired");
  await assert.rejects(context.definitions.retire(nodeType), DefinitionNotFound);
  const states = await context.definitions.list({ states: ["retired"] });
  assert.ok(states.some((one) => one.name === nodeType));
  assert.equal((await context.definitions.get(nodeType)).retiredAt !== "", true);
  await assert.rejects(context.definitions.put(nodeType, { ...rules, titel: "x" } as DefinitionRules), InvalidArgument);
});
