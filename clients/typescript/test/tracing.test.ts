/** Spans of the client's own, by the real SDK of OpenTelemetry. */

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { context as current, propagation, SpanKind, SpanStatusCode, trace, type Span } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { EntityClient, newId, NodeNotFound, Unavailable } from "contextkeep";

import { context, entities } from "./stack.js";

const exporter = new InMemorySpanExporter();
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
current.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());

beforeEach(() => exporter.reset());

/** Run `block` in a span of an application, and return the spans of the client, as they ended. */
async function traced(block: () => Promise<unknown>) {
  const app = trace.getTracer("app").startSpan("app");
  await current.with(trace.setSpan(current.active(), app), block);
  app.end();
  const spans = exporter.getFinishedSpans().filter((span) => span.instrumentationScope.name === "contextkeep");
  for (const span of spans) {
    assert.equal(span.kind, SpanKind.CLIENT);
    assert.equal(span.parentSpanContext?.spanId, app.spanContext().spanId);
  }
  return spans;
}

test("each call is a span below the application's, by the name of its RPC", async () => {
  const spans = await traced(async () => {
    const { id } = await entities.graph.createNode({ generalTypeName: "Session" });
    await context.history.get(id);
    for await (const _ of entities.graph.traverse(id)) assert.fail("it has no children");
    const record = await context.blobs.upload({ buffer: Buffer.from("text"), name: "a", memoryType: "file" });
    await context.blobs.getAsBuffer(record.workingMemoryId);
  });

  assert.deepEqual(
    spans.map(({ name }) => name),
    ["CreateNode", "StreamChatHistory", "Traverse", "UploadBlob", "GetBlob"],
  );
  assert.deepEqual(new Set(spans.map(({ status }) => status.code)), new Set([SpanStatusCode.UNSET]));
});

test("a call that fails is a failed span with the name of its error", async () => {
  const spans = await traced(() => assert.rejects(entities.graph.getNode(newId()), NodeNotFound));

  assert.deepEqual(
    spans.map(({ name, status, attributes }) => [name, status.code, attributes["error.type"]]),
    [["GetNode", SpanStatusCode.ERROR, "NodeNotFound"]],
  );
});

test("each attempt is a span", async () => {
  const nobody = new EntityClient({ address: "127.0.0.1:1", retries: 2 });
  const spans = await traced(() => assert.rejects(nobody.graph.getNode(newId()), Unavailable));
  nobody.close();

  assert.deepEqual(
    spans.map(({ attributes }) => attributes["error.type"]),
    ["Unavailable", "Unavailable", "Unavailable"],
  );
});

test("a stream that is left early is a span that did not fail", async () => {
  const root = newId();
  const children = Array.from({ length: 1500 }, () => ({ id: newId(), generalTypeName: "Turn" }));
  const edges = children.map(({ id }) => ({ fromNodeId: root, toNodeId: id, edgeType: "Contains" }));
  await entities.graph.write({ nodes: [{ id: root, generalTypeName: "Session" }, ...children] });
  await entities.graph.write({ edges });

  const spans = await traced(async () => {
    for await (const _ of entities.graph.traverse(root)) break;
  });

  assert.deepEqual(
    spans.map(({ name, status }) => [name, status.code]),
    [["Traverse", SpanStatusCode.UNSET]],
  );
});

test("where nobody traces, or this trace is not kept, there is no span", async () => {
  await entities.graph.listGraphs();
  const spanContext = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", traceFlags: 0 };
  const notKept: Span = trace.wrapSpanContext(spanContext);
  await current.with(trace.setSpan(current.active(), notKept), async () => await entities.graph.listGraphs());

  assert.deepEqual(exporter.getFinishedSpans(), []);
});
