/** The base of the clients: one channel, a credential, deadlines and retries. */

import type {
  DescMessage,
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { Metadata } from "@grpc/grpc-js";

import { parseAddress } from "./address.js";
import { type CallSettings, Connection, type TlsOptions } from "./connection.js";
import { findDevKey } from "./dev-keys.js";
import { FileCache } from "./files.js";
import { InvalidArgument } from "./gen/errors.js";
import { Attempts, RetryBudget } from "./retries.js";
import { checkTexts } from "./texts.js";

const TIMEOUT_MS = 30_000;
const IDLE_TIMEOUT_MS = 60_000;
const RETRIES = 3;

type Headers = Record<string, string>;

/** The service, the credential and the limits of a client's calls. */
export interface ClientOptions extends TlsOptions {
  /**
   * `host:port`, `http://host:port` or `https://host[:port]`. Default: the environment variable of the service, or its
   * port on this machine.
   */
  address?: string;
  /** Default: `CONTEXT_SERVICE_API_KEY`, or the key of a stack that `make run` runs there. Empty: send no key. */
  apiKey?: string;
  /**
   * Metadata that goes with every call. A function is called at each attempt, so that it can read the current trace.
   */
  headers?: Headers | (() => Headers);
  /** Deadline of a call with its retries, in milliseconds. Default: 30,000. */
  timeoutMs?: number;
  /** Milliseconds after which a stream fails if no data arrive. Default: 60,000. */
  idleTimeoutMs?: number;
  /** Attempts after the first, for calls that failed with `Unavailable` and may be repeated. Default: 3. */
  retries?: number;
}

/** The options of every method, in addition to its own. */
export interface CallOptions {
  /** Metadata of this call, added to the client's; the same name wins. */
  headers?: Headers;
  /** Deadline of this call with its retries, in milliseconds; of a list, that of each page. */
  timeoutMs?: number;
  /** Cancels the call; the method then throws the reason of the signal. */
  signal?: AbortSignal;
}

/** The default address of a service. */
interface Service {
  name: string;
  variable: string;
  address: string;
}

export abstract class Client {
  /** @internal */
  readonly connection: Connection;
  /** @internal */
  readonly fileCache = new FileCache();
  private readonly budget = new RetryBudget();
  /** @internal */
  readonly options: Required<Pick<ClientOptions, "headers" | "timeoutMs" | "idleTimeoutMs" | "retries">>;
  private apiKey = "";
  private readonly subjectUserId: string = "";

  constructor(options: ClientOptions, service: Service) {
    let address =
      options.address === undefined
        ? parseAddress(process.env[service.variable] || service.address, service.variable)
        : parseAddress(options.address);
    const { headers = {}, timeoutMs = TIMEOUT_MS, idleTimeoutMs = IDLE_TIMEOUT_MS, retries = RETRIES } = options;
    for (const [field, value] of Object.entries({ timeoutMs, idleTimeoutMs })) checkDuration(value, field);
    if (!(Number.isInteger(retries) && retries >= 0)) {
      throw new InvalidArgument("retries is not a whole number from 0", { field: "retries" });
    }
    this.options = { headers, timeoutMs, idleTimeoutMs, retries };
    let apiKey = options.apiKey ?? (process.env.CONTEXT_SERVICE_API_KEY || undefined);
    if (apiKey === undefined) ({ address, key: apiKey } = findDevKey(address));
    this.setApiKey(apiKey);
    this.metadata({}); // so that a malformed header fails here
    this.connection = new Connection(address, service.name, options);
  }

  /** Call with this key or token from now on. Empty: send no key. */
  setApiKey(apiKey: string): void {
    const key = apiKey.trim();
    if (!/^[\x20-\x7e]*$/.test(key)) {
      throw new InvalidArgument("the API key holds a character that no key has", { field: "apiKey" });
    }
    this.apiKey = key;
  }

  /** @internal Return a view of this client whose calls are for a user, unless they name another one. */
  forUser(subjectUserId: string): this {
    return Object.create(this, { subjectUserId: { value: subjectUserId } });
  }

  /** Close the channel. Calls under way end with `Cancelled`. */
  close(): void {
    this.connection.close();
  }

  /**
   * Return the answer of a unary RPC: generated messages in and out, for RPCs and fields that have no method here.
   *
   * @param mayRepeat Whether the request may be sent twice, because it is a read or has a request id.
   * @throws ContextKeepError The call failed; the class is that of the error's reason.
   */
  async call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    options: CallOptions = {},
    mayRepeat = true,
  ): Promise<MessageShape<O>> {
    const message = this.message(method.input, request);
    checkTexts(method.input, message);
    const attempts = this.attempts(options, options.timeoutMs ?? this.options.timeoutMs, mayRepeat);
    return attempts.run(() => this.connection.unary(method, message, this.settings(options, attempts)));
  }

  /**
   * Yield the answers of a server-streaming RPC: generated messages in and out. The call is retried only until the
   * first answer has arrived.
   *
   * @throws ContextKeepError The call failed; the class is that of the error's reason.
   */
  async *stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageInitShape<I>,
    options: CallOptions = {},
    mayRepeat = true,
  ): AsyncGenerator<MessageShape<O>> {
    const message = this.message(method.input, request);
    checkTexts(method.input, message);
    const attempts = this.attempts(options, options.timeoutMs, mayRepeat);
    for (;;) {
      let begun = false;
      try {
        for await (const answer of this.connection.stream(method, message, this.settings(options, attempts))) {
          begun = true;
          yield answer;
        }
        attempts.succeeded();
        return;
      } catch (error) {
        if (begun) throw error;
        await attempts.wait(error);
      }
    }
  }

  /**
   * The attempts of one call; `timeoutMs` is the deadline of all of them together.
   *
   * @internal
   */
  attempts(options: CallOptions, timeoutMs: number | undefined, mayRepeat = true): Attempts {
    if (timeoutMs !== undefined) checkDuration(timeoutMs, "timeoutMs");
    return new Attempts(this.budget, mayRepeat ? this.options.retries : 0, timeoutMs, options.signal);
  }

  /**
   * How the next attempt is made.
   *
   * @internal
   */
  settings(options: CallOptions, attempts: Attempts): CallSettings {
    return {
      metadata: this.metadata(options.headers ?? {}),
      timeoutMs: attempts.remainingMs(),
      idleTimeoutMs: this.options.idleTimeoutMs,
      signal: options.signal,
    };
  }

  private message<I extends DescMessage>(type: I, request: MessageInitShape<I>): MessageShape<I> {
    const message = create(type, request);
    const fields = message as { subjectUserId?: string };
    if (this.subjectUserId && fields.subjectUserId === "") fields.subjectUserId = this.subjectUserId;
    return message;
  }

  private metadata(headers: Headers): Metadata {
    const metadata = new Metadata();
    const own = typeof this.options.headers === "function" ? this.options.headers() : this.options.headers;
    if (this.apiKey) metadata.set("authorization", `Bearer ${this.apiKey}`);
    for (const [name, value] of Object.entries({ ...own, ...headers })) {
      try {
        metadata.set(name, value);
      } catch {
        // grpc puts the value into its own error, and it may be a secret.
        throw new InvalidArgument(`the header ${JSON.stringify(name)} cannot be sent`, { field: "headers" });
      }
    }
    return metadata;
  }
}

function checkDuration(value: number, field: string): void {
  if (!(value > 0 && value < Number.POSITIVE_INFINITY)) {
    throw new InvalidArgument(`${field} must be a finite number above 0`, { field });
  }
}
