import assert from "node:assert/strict";
import { test } from "node:test";

import { AgentNotFound, newId } from "contextkeep";

import { context } from "./stack.js";

test("an agent is as it was put, and what is asked for it is held to its policy", async () => {
  const [agentId, templateId, nodeId] = [newId(), newId(), newId()];
  const template = await context.agentTemplates.put(templateId, { allowed: { families: ["workspace", "context"] } });
  const put = await context.agents.put(agentId, { templateId, nodeIds: [nodeId], callers: { userIds: ["ada"] } });
  assert.deepEqual(await context.agents.get(agentId), put);
  assert.deepEqual([put.nodeIds, put.callers?.userIds, put.allowed, put.version], [[nodeId], ["ada"], undefined, 1]);
  assert.deepEqual((await context.agentTemplates.get(templateId)).allowed, template.allowed);
  const listed = [];
  for await (const one of context.agents.list({ templateId, pageSize: 1 })) listed.push(one.agentId);
  assert.deepEqual(listed, [agentId]);

  const policy = await context.query.getPolicy({ agentId });
  assert.deepEqual([policy.agentId, policy.templateId, policy.target?.nodeIds], [agentId, templateId, [nodeId]]);
  const found = await context.query.ask("x", { agentId });
  assert.deepEqual(found.providers.map(({ providerId }) => providerId), ["workspace"]);

  await context.agents.delete(agentId);
  await context.agentTemplates.delete(templateId);
  await assert.rejects(context.query.ask("x", { agentId }), AgentNotFound);
});
