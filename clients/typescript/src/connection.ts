/**
 * The channels to one service: calls, streams and uploads, with the errors of the services.
 *
 * A stream has no total deadline unless one is given. It fails when nothing moves for the idle time; the time that the caller
 * takes with a message, or a source with the next bytes, does not count.
 */

import type {
  DescMessage,
  DescMethodClientStreaming,
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageShape,
} from "@bufbuild/protobuf";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";

import { type Address, isLoopback } from "./address.js";
import { ContextKeepError } from "./error.js";
import { Cancelled, DeadlineExceeded, InvalidArgument, Unavailable } from "./gen/errors.js";
import { sparesBudget } from "./retries.js";
import { DETAILS_KEY, errorOf } from "./status.js";
import { ClientSpan } from "./tracing.js";
import { VERSION } from "./version.js";

const CHANNEL_OPTIONS: grpc.ChannelOptions = {
  "grpc.primary_user_agent": `contextkeep-typescript/${VERSION}`,
  // One layer retries, and it is ours: it knows which calls are safe.
  "grpc.enable_retries": 0,
  // A peer that vanished without a word is noticed in 40 s, while calls are under way; idle channels stay silent.
  "grpc.keepalive_time_ms": 30_000,
  "grpc.keepalive_timeout_ms": 10_000,
  // If a name has several addresses (replicas of a headless service), each gets its share of the calls, and a replica
  // that
  // stops none. By default grpc stays with the first. What a name server says of balancing is not asked for.
  "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  "grpc.service_config_disable_resolution": 1,
  // While a channel waits to connect again, calls fail at once. The default of 1 s would outlast our retries.
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 5_000,
  // Each channel connects for itself. By default grpc-js shares connections among the channels of a process.
  "grpc.use_local_subchannel_pool": 1,
};

/**
 * The calls that a channel takes before the client opens another one. Our services take as many on one connection, and queue the
 * others without telling their callers: a client with that many watches open could not call at all.
 */
const CALLS_OF_CHANNEL_MAX = 100;
/** Channels for many calls at once disconnect so long after their last one. */
const IDLE_MS = 60_000;

/** Certificates, PEM, where the machine's own list of authorities will not do. */
export interface TlsOptions {
  rootCertificates?: Uint8Array;
  /** For servers that ask for one; with `clientKey`. */
  clientCertificate?: Uint8Array;
  clientKey?: Uint8Array;
}

/** How one call is made. */
export interface CallSettings {
  metadata: grpc.Metadata;
  /** Of the whole call. */
  timeoutMs?: number | undefined;
  /** Of a stream: how long nothing may move. */
  idleTimeoutMs: number;
  signal?: AbortSignal | undefined;
}

/**
 * How grpc's texts begin where there was no connection to send a call on. Nothing else of its errors tells that; should they
 * change, such calls cost tokens of the retry budget, which a test would notice.
 */
const NOT_CONNECTED = /^(round_robin: )?No connection established|^Name resolution failed/;
const CLOSED = "the client was closed while the call was under way";
/** How long an upload that is given up may take to say so. */
const GIVE_UP_MS = 1_000;

type Cancellable = { cancel(): void };

/** A channel, and how many calls are open on it. */
interface Channel {
  client: grpc.Client;
  calls: number;
}

export class Connection {
  private readonly channels: Channel[] = [];
  private readonly connect: (options: grpc.ChannelOptions) => grpc.Client;
  private readonly underWay = new Set<Cancellable>();
  private closed = false;

  /** @param service Names the service in errors that are made on this side of the wire. */
  constructor(
    readonly address: Address,
    private readonly service: string,
    tls: TlsOptions,
  ) {
    const credentials = address.tls
      ? grpc.credentials.createSsl(buffer(tls.rootCertificates), buffer(tls.clientKey), buffer(tls.clientCertificate))
      : grpc.credentials.createInsecure();
    const proxy = isLoopback(address.host) ? { "grpc.enable_http_proxy": 0 } : {};
    this.connect = (options) => new grpc.Client(address.target, credentials, { ...CHANNEL_OPTIONS, ...proxy, ...options });
  }

  /** Return the answer of one call. */
  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageShape<I>,
    settings: CallSettings,
  ): Promise<MessageShape<O>> {
    const bytes = encoded(method.input, request);
    const watch = this.watched(settings);
    const span = new ClientSpan(method.name, settings.metadata);
    try {
      return await new Promise((resolve, reject) => {
        const call = watch.client.makeUnaryRequest(
          path(method),
          identity,
          (answer) => fromBinary(method.output, answer),
          bytes,
          span.metadata,
          deadline(settings),
          (error, answer) => (error ? reject(error) : resolve(answer!)),
        );
        watch.begin(call);
      });
    } catch (error) {
      throw span.failed(this.errorFrom(error, watch, settings));
    } finally {
      watch.end();
      span.end();
    }
  }

  /** Yield the answers of one call; leaving early cancels it. */
  async *stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageShape<I>,
    settings: CallSettings,
  ): AsyncGenerator<MessageShape<O>> {
    const bytes = encoded(method.input, request);
    const watch = this.watched(settings);
    const span = new ClientSpan(method.name, settings.metadata);
    try {
      const call = watch.client.makeServerStreamRequest(
        path(method),
        identity,
        (answer) => fromBinary(method.output, answer),
        bytes,
        span.metadata,
        deadline(settings),
      );
      call.on("error", () => {}); // the iterator throws it; one that was left throws none
      watch.begin(call);
      const answers: AsyncIterator<MessageShape<O>> = call[Symbol.asyncIterator]();
      for (;;) {
        const next = await watch.moving(answers.next());
        if (next.done) return;
        yield next.value;
      }
    } catch (error) {
      throw span.failed(this.errorFrom(error, watch, settings));
    } finally {
      watch.end();
      span.end();
    }
  }

  /**
   * Send messages and return the one answer, which may come before all are sent: then the rest is left in `messages`.
   *
   * What `messages` throws ends the call, so that the service stores nothing, and is thrown on.
   */
  async upload<I extends DescMessage, O extends DescMessage>(
    method: DescMethodClientStreaming<I, O>,
    messages: AsyncIterator<MessageShape<I>>,
    settings: CallSettings,
  ): Promise<MessageShape<O>> {
    const watch = this.watched(settings);
    const span = new ClientSpan(method.name, settings.metadata);
    let timer: NodeJS.Timeout | undefined;
    try {
      let settle!: (error: Error | null, value?: MessageShape<O>) => void;
      let answered = false;
      let whole = false;
      const answer = new Promise<MessageShape<O>>((resolve, reject) => {
        settle = (error, value) => {
          answered = true;
          if (error) reject(error);
          else resolve(value!);
        };
      });
      answer.catch(() => {}); // awaited below
      const call = watch.client.makeClientStreamRequest(
        path(method),
        identity,
        (bytes) => fromBinary(method.output, bytes),
        span.metadata,
        deadline(settings, GIVE_UP_MS),
        settle,
      );
      call.on("error", () => {}); // the answer says it
      const stop = (error: Error): void => {
        if (answered || whole) call.cancel();
        else giveUp(call);
        settle(error);
      };
      if (settings.timeoutMs !== undefined) timer = setTimeout(() => stop(this.tooLate()), settings.timeoutMs);
      watch.begin({ cancel: () => stop(new Cancelled(CLOSED)) });
      while (!answered) {
        const next = await messages.next();
        if (next.done) {
          whole = true;
          call.end();
          break;
        }
        const bytes = encoded(method.input, next.value);
        const written = new Promise<void>((resolve) => call.write(bytes, () => resolve()));
        await watch.moving(Promise.race([written, answer]));
      }
      return await watch.moving(answer);
    } catch (error) {
      throw span.failed(this.errorFrom(error, watch, settings));
    } finally {
      clearTimeout(timer);
      watch.end();
      span.end();
    }
  }

  /** Close the channels; calls under way end with `Cancelled`. */
  close(): void {
    this.closed = true;
    for (const call of this.underWay) call.cancel();
    for (const channel of this.channels) channel.client.close();
  }

  /** Return a channel that has room for a call. */
  private channel(): Channel {
    let channel = this.channels.find((open) => open.calls < CALLS_OF_CHANNEL_MAX);
    if (!channel) {
      channel = { client: this.connect(this.channels.length ? { "grpc.client_idle_timeout_ms": IDLE_MS } : {}), calls: 0 };
      this.channels.push(channel);
    }
    return channel;
  }

  private watched(settings: CallSettings): Watch {
    settings.signal?.throwIfAborted();
    if (this.closed) throw new Cancelled("the client is closed");
    return new Watch(settings, this.underWay, this.channel());
  }

  /** The error of the services that an error of grpc stands for; others as they are. */
  private errorFrom(error: unknown, watch: Watch, settings: CallSettings): unknown {
    const { where } = this;
    if (settings.signal?.aborted) return settings.signal.reason;
    const metadata = this.dependency;
    if (watch.silent) {
      return new DeadlineExceeded(`nothing moved on a stream with ${where} for ${settings.idleTimeoutMs} ms`, { metadata });
    }
    if (!isServiceError(error)) return error;
    const details = error.metadata?.get(DETAILS_KEY)[0];
    const found = errorOf(error.code, error.details, details instanceof Uint8Array ? details : undefined);
    if (details !== undefined) return found;
    // Made on this side of the wire: grpc's texts say neither who nor where.
    if (found instanceof Unavailable) {
      const away = new Unavailable(`${where} does not answer: ${error.details}`, { metadata, cause: error });
      return NOT_CONNECTED.test(error.details) ? sparesBudget(away) : away;
    }
    if (found instanceof Cancelled && !this.closed) {
      // A call that reaches a server just as it begins to stop is dropped so. Ours never answer CANCELLED.
      return sparesBudget(new Unavailable(`${where} is stopping`, { metadata, cause: error }));
    }
    if (found instanceof Cancelled) return new Cancelled(CLOSED);
    if (found instanceof DeadlineExceeded) return this.tooLate();
    return found;
  }

  private tooLate(): DeadlineExceeded {
    return new DeadlineExceeded(`${this.where} did not answer in time`, { metadata: this.dependency });
  }

  private get where(): string {
    return `${this.service} at ${this.address.target}`;
  }

  private get dependency(): Record<string, string> {
    return { dependency: this.service, address: this.address.target };
  }
}

/** A call under way: ended by its signal, by the end of the client, or when nothing moves. */
class Watch {
  silent = false;
  private call: Cancellable | undefined;

  constructor(
    private readonly settings: CallSettings,
    private readonly underWay: Set<Cancellable>,
    private readonly channel: Channel,
  ) {
    channel.calls += 1;
  }

  /** Where the call is made. */
  get client(): grpc.Client {
    return this.channel.client;
  }

  begin(call: Cancellable): void {
    this.call = call;
    this.underWay.add(call);
    this.settings.signal?.addEventListener("abort", this.cancel, { once: true });
  }

  /** Return what `step` returns; a step that takes longer than the idle time ends the call. */
  async moving<T>(step: Promise<T>): Promise<T> {
    const timer = setTimeout(() => {
      this.silent = true;
      this.cancel();
    }, this.settings.idleTimeoutMs);
    try {
      return await step;
    } finally {
      clearTimeout(timer);
    }
  }

  end(): void {
    this.channel.calls -= 1;
    if (!this.call) return;
    this.cancel(); // of a call that is over: nothing
    this.underWay.delete(this.call);
    this.settings.signal?.removeEventListener("abort", this.cancel);
  }

  private readonly cancel = (): void => this.call?.cancel();
}

/**
 * End an upload so that nothing of it is stored.
 *
 * Node ends the HTTP/2 stream of a cancelled call before it resets it, so to a service the upload looks complete for a moment. A
 * message that is neither header nor chunk goes first, which every upload is refused for.
 */
function giveUp(call: grpc.ClientWritableStream<Buffer>): void {
  const patience = setTimeout(() => call.cancel(), GIVE_UP_MS); // the service reads no more
  patience.unref();
  call.write(Buffer.alloc(0), () => {
    clearTimeout(patience);
    call.cancel();
  });
}

/**
 * Return a request's bytes.
 *
 * @throws InvalidArgument A value is not of its field's type, or out of its range.
 */
function encoded<I extends DescMessage>(schema: I, message: MessageShape<I>): Buffer {
  try {
    return buffer(toBinary(schema, message))!;
  } catch (error) {
    throw new InvalidArgument(`the request cannot be sent: ${(error as Error).message}`, { cause: error });
  }
}

function path(method: { parent: { typeName: string }; name: string }): string {
  return `/${method.parent.typeName}/${method.name}`;
}

function deadline(settings: CallSettings, moreMs = 0): grpc.CallOptions {
  return settings.timeoutMs === undefined ? {} : { deadline: Date.now() + settings.timeoutMs + moreMs };
}

function identity(bytes: Buffer): Buffer {
  return bytes;
}

function buffer(bytes: Uint8Array): Buffer;
function buffer(bytes: Uint8Array | undefined): Buffer | null;
function buffer(bytes: Uint8Array | undefined): Buffer | null {
  return bytes ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) : null;
}

function isServiceError(error: unknown): error is grpc.ServiceError {
  return error instanceof Error && !(error instanceof ContextKeepError) && "code" in error && "details" in error;
}
