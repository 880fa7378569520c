import assert from "node:assert/strict";
import { test } from "node:test";

import { AddressRefused, McpServerNotFound, McpToolChanged, newId } from "contextkeep";

import { TICKETS_URL, context } from "./stack.js";

test("a server's tool is discovered, approved, asked, and asked no more", async () => {
  const serverId = `s${newId()}`;
  const server = await context.mcpServers.put(serverId, TICKETS_URL, { displayName: "Tickets" });
  assert.deepEqual([server.version, server.hasSecret, server.discoveredAt], [1, false, ""]);
  const [tool] = await context.mcpServers.discoverTools(serverId);
  assert.deepEqual([tool!.toolName, tool!.state, tool!.approvedAt], ["search_tickets", "found", ""]);
  const other = { definitionSha256: "0".repeat(64) };
  await assert.rejects(context.mcpServers.approveTool(serverId, "search_tickets", other), McpToolChanged);

  const { definitionSha256 } = tool!;
  const approved = await context.mcpServers.approveTool(serverId, "search_tickets", { definitionSha256 });
  assert.deepEqual([approved.state, JSON.parse(approved.argumentsJson)], ["approved", { query: "{question}", limit: "{limit}" }]);
  assert.deepEqual(await context.mcpServers.listTools({ serverId, pageSize: 1 }), [approved]);
  const answer = await context.query.ask("how late?", { providers: { ids: [approved.providerId] } });
  assert.deepEqual(answer.hits.map((one) => [one.title, one.untrusted]), [["Ticket 1", true]]);

  assert.equal((await context.mcpServers.unapproveTool(serverId, "search_tickets")).state, "found");
  assert.ok((await context.mcpServers.list({ pageSize: 1 })).some((one) => one.serverId === serverId));
  await context.mcpServers.delete(serverId);
  await assert.rejects(context.mcpServers.discoverTools(serverId), McpServerNotFound);
  await assert.rejects(context.mcpServers.put(serverId, "http://169.254.169.254/mcp"), AddressRefused);
});
