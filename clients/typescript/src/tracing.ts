/**
 * The caller's trace goes along with its calls, where it has one: OpenTelemetry, if the application has it.
 *
 * Nothing here needs configuration: spans go where the application's own go. Without `@opentelemetry/api` nothing is loaded.
 */

import { createRequire } from "node:module";

import type * as grpc from "@grpc/grpc-js";
import type * as OpenTelemetry from "@opentelemetry/api";

const api = loaded();

/**
 * The span of one attempt of a call, below the current one; none if that is not recorded.
 *
 * It is never the current one itself: a stream's consumer runs between its messages.
 */
export class ClientSpan {
  /** To send. */
  readonly metadata: grpc.Metadata;
  private readonly span: OpenTelemetry.Span | undefined;

  /** @param metadata The metadata without tracing. */
  constructor(rpc: string, metadata: grpc.Metadata) {
    this.metadata = metadata;
    if (!api?.trace.getActiveSpan()?.isRecording()) return;
    this.span = api.trace.getTracer("contextkeep").startSpan(rpc, { kind: api.SpanKind.CLIENT });
    this.metadata = metadata.clone();
    api.propagation.inject(api.trace.setSpan(api.context.active(), this.span), this.metadata, {
      set: (carrier, name, value) => carrier.set(name, value),
    });
  }

  /** Note an error, and return it. */
  failed(error: unknown): unknown {
    this.span?.setAttribute("error.type", error instanceof Error ? error.name : typeof error);
    this.span?.setStatus({ code: api!.SpanStatusCode.ERROR });
    return error;
  }

  end(): void {
    this.span?.end();
  }
}

function loaded(): typeof OpenTelemetry | undefined {
  try {
    return createRequire(import.meta.url)("@opentelemetry/api") as typeof OpenTelemetry;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}
