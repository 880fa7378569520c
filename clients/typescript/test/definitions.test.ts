import assert from "node:assert/strict";
import { test } from "node:test";

import { DefinitionNotFound, type DefinitionRules, InvalidArgument, newId } from "contextkeep";

import { context, graph } from "./stack.js";

test("an approved definition makes a page, which a question finds", async () => {
  const nodeType = `T${newId()}`;
  const rules: DefinitionRules = {
    nodeType,
    title: "entity.name",
    facets: [{ slug: "state", heading: "State", kind: "operational", text: "entity.status", timeToLive: "duration('24h')" }],
  };
  const node = await graph.createNode({ generalTypeName: nodeType, name: "Orrery", status: "Renewing" });
  const tried = await context.testDefinition(rules, node.id);
  assert.deepEqual([tried.page?.title, tried.page?.facets[0]?.text, tried.problems], ["Orrery", "Renewing", []]);

  const put = await context.putDefinition(nodeType, rules);
  assert.deepEqual([put.version, put.state, put.rules], [1, "draft", { ...rules, graphName: "default" }]);
  await context.approveDefinition(nodeType, 1);
  const told = [];
  for await (const one of context.compilePages({ definitionName: nodeType })) told.push(one);
  assert.deepEqual([told.at(-1)?.isDone, told.at(-1)?.pagesWritten], [true, 1]);

  const [listed] = await context.listCompiledPages({ nodeId: node.id });
  const facet = { slug: "note", text: "Call", heading: "Note", kind: "external", sourceLabel: "Ada" } as const;
  assert.equal((await context.putFacet(listed!.pageId, facet))?.trust, 1);
  const page = await context.getCompiledPage(listed!.pageId);
  assert.deepEqual(page.facets.map((one) => [one.slug, one.trust, one.sources[0]?.nodeId]), [["state", 5, node.id], ["note", 1, ""]]);
  assert.equal(await context.putFacet(page.pageId, { slug: "note" }), undefined);

  assert.equal((await context.retireDefinition(nodeType)).state, "retired");
  await assert.rejects(context.retireDefinition(nodeType), DefinitionNotFound);
  const states = await context.listDefinitions({ states: ["retired"] });
  assert.ok(states.some((one) => one.name === nodeType));
  assert.equal((await context.getDefinition(nodeType)).retiredAt !== "", true);
  await assert.rejects(context.putDefinition(nodeType, { ...rules, titel: "x" } as DefinitionRules), InvalidArgument);
});
