import assert from "node:assert/strict";
import { test } from "node:test";

import { InvalidArgument, MappingExists, MappingNotFound, MappingRegistry, NodeNotFound, newId } from "contextkeep";

import { context, entities, withContext } from "./stack.js";

/** A conversation with these turns, in one call. */
async function conversation(turns: object[], generalTypeName = "Turn"): Promise<string> {
  const id = newId();
  const nodes = turns.map((data) => ({ id: newId(), generalTypeName, data }));
  await entities.graph.write({
    nodes: [{ id, generalTypeName: "Session" }, ...nodes],
    edges: nodes.map((node) => ({ fromNodeId: id, toNodeId: node.id, edgeType: "Contains" })),
  });
  return id;
}

test("a history is read off the graph, newest last", async () => {
  const id = await conversation([{ user_input: "one", assistant_output: "two" }, { role: "user", content: "three" }]);

  const { messages, nodesFailed, rolesUnknown } = await context.history.get(id);

  assert.deepEqual(
    messages.map(({ role, content }) => [role, content]),
    [
      ["user", "one"],
      ["assistant", "two"],
      ["user", "three"],
    ],
  );
  assert.deepEqual([nodesFailed, rolesUnknown], [0, 0]);
  assert.equal((await context.history.get(id, { maxMessages: 1 })).messages[0]?.content, "three");
  const fitting = await context.history.get(id, { tokensMax: 10 });
  assert.deepEqual([fitting.messages.length, fitting.tokens, fitting.isCut], [2, 10, true]);
  assert.deepEqual((await context.history.get((await entities.graph.createNode({ generalTypeName: "Session" })).id)).messages, []);
  await assert.rejects(context.history.get(newId()), NodeNotFound);
});

test("a history longer than one message of the wire is whole", async () => {
  const id = newId();
  const text = "x".repeat(20_000);
  for (let part = 0; part < 3; part += 1) {
    const turns = Array.from({ length: 100 }, (_, index) => ({
      id: newId(),
      generalTypeName: "Turn",
      data: { role: "user", content: `${part * 100 + index} ${text}` },
    }));
    await entities.graph.write({
      nodes: part ? turns : [{ id, generalTypeName: "Session" }, ...turns],
      edges: turns.map((turn) => ({ fromNodeId: id, toNodeId: turn.id, edgeType: "Contains" })),
    });
  }

  const { messages } = await context.history.get(id);

  assert.deepEqual(messages.map(({ content }) => Number.parseInt(content)), Array.from({ length: 300 }, (_, i) => i));
});

test("an app registers its mappings when it starts, and reads histories through them", async () => {
  const appId = `app-${newId()}`;
  const registry = new MappingRegistry()
    .register("typed", { edgeTypes: ["Contains"], roleMapping: { Ask: "user" }, contentField: "text" }, { rulesVersion: 1 })
    .register("long", {
      messages: [
        {
          role: "'assistant'",
          content: "entity.data.text",
          parts: "[{'type': 'data', 'data': {'n': 1}}, {'type': 'tool_call', 'id': 'c', 'name': 'f', 'arguments': {'x': 1}}]",
          metadata: "{'kind': entity.type}",
        },
      ],
    });
  const id = await conversation([{ text: "How far?" }], "Ask");

  const applied = await registry.apply(context, { appId });
  const again = await registry.apply(context, { appId });

  assert.deepEqual(applied.map((mapping) => [mapping.appId, mapping.mappingName, mapping.version]), [
    [appId, "typed", 1],
    [appId, "long", 1],
  ]);
  assert.deepEqual(again, applied);
  await withContext({ appId }, async (client) => {
    const typed = await client.history.get(id, { mappingName: "typed" });
    assert.deepEqual(typed.messages.map(({ role, content }) => [role, content]), [["user", "How far?"]]);
    const [message] = (await client.history.get(id, { mappingName: "long" })).messages;
    assert.deepEqual(message?.metadata, { kind: "Ask" });
    assert.deepEqual(message?.parts.map(({ kind, data, toolCall }) => [kind, data ?? toolCall]), [
      ["data", { n: 1 }],
      ["toolCall", { id: "c", name: "f", arguments: { x: 1 } }],
    ]);
    assert.deepEqual((await client.mappings.get("typed")).rules.roleMapping, { Ask: "user" });
    assert.deepEqual((await client.mappings.list({ appId })).map((mapping) => mapping.mappingName).slice(0, 2), ["long", "typed"]);
    await assert.rejects(client.mappings.register("long", { roleField: "role", contentField: "text" }), MappingExists);
    assert.equal((await client.mappings.delete("long")).mappingName, "long");
    await assert.rejects(client.history.get(id, { mappingName: "long" }), MappingNotFound);
  });
  await assert.rejects(
    context.history.get(id, { mappingName: "typed", appId: "another" }),
    (error) => error instanceof MappingNotFound && error.metadata.apps === appId,
  );
});

test("a rule that does not compile is refused with its place, and so is one that is none", async () => {
  await assert.rejects(
    context.mappings.register("bad", { filter: "entity.data.x ==", roleField: "role", contentField: "text" }),
    (error) => error instanceof InvalidArgument && error.metadata.rule === "rules.filter" && error.metadata.line === "1",
  );
  await assert.rejects(
    context.mappings.register("bad", { fliter: "true" } as never),
    (error) => error instanceof InvalidArgument && /fliter/.test(error.message),
  );
});

test("rules are also taken with the names of the proto", async () => {
  const rules = { edge_types: ["Contains"], role_field: "role", content_field: "content" } as never;

  const { rules: registered } = await context.mappings.register("snake", rules, { appId: newId() });

  assert.deepEqual(registered.edgeTypes, ["Contains"]);
  assert.deepEqual([registered.roleField, registered.contentField], ["role", "content"]);
});

test("a history tells where it is from, and why others are missing", async () => {
  const id = await conversation([{ user_input: "one", mood: "calm" }, { role: "narrator", content: "two" }]);

  const [first, second] = await context.history.assemble(id, { dataPaths: ["mood"], pageSize: 1 });

  assert.equal(first?.messages[0]?.message.content, "one");
  assert.deepEqual(first?.values, { mood: "calm" });
  assert.equal(first?.edgeType, "Contains");
  assert.equal(first?.fromNodeId, id);
  assert.ok(second?.skipped.some((skipped) => skipped.reason === "role_unknown"));
});

test("a history comes as a model's vendor takes it", async () => {
  const id = await conversation([{ role: "system", content: "Be brief." }, { user_input: "one", assistant_output: "two" }]);

  const openai = await context.history.formatted(id, "openai");
  const anthropic = await context.history.formatted(id, "anthropic", { maxMessages: 10 });
  const gemini = await context.history.formatted(id, "gemini");

  assert.deepEqual(openai.body.messages.map((message: { role: string }) => message.role), ["system", "user", "assistant"]);
  assert.deepEqual(gemini.body.systemInstruction, { parts: [{ text: "Be brief." }] });
  assert.deepEqual(gemini.body.contents.map((content: { role: string }) => content.role), ["user", "model"]);
  assert.match(JSON.stringify(anthropic.body.system), /Be brief/);
  assert.equal(anthropic.toolCallsUnanswered, 0);
  await assert.rejects(context.history.formatted(id, "other" as never), InvalidArgument);
});
