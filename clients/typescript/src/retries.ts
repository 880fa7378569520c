/**
 * When a call is tried again, and when not; as in the Python client.
 *
 * Only `Unavailable` is, and only calls that may happen twice: reads, and writes that carry a request id. Between attempts
 * lies an exponential backoff with jitter, or what the server asks for. A budget stops all retries of a client while most of
 * its calls fail, so that clients do not keep down a service that tries to come back. Calls on which no service has worked cost
 * it nothing, as in gRPC's transparent retries: a service that is away is not kept down.
 */

import { setTimeout as sleep } from "node:timers/promises";

import type { ContextKeepError } from "./error.js";
import { Unavailable } from "./gen/errors.js";

const BACKOFF_MS = 100;
const BACKOFF_MS_MAX = 5_000;
const BACKOFF_FACTOR = 2;
const JITTER = 0.2; // of the delay, both ways; when the server named the delay, upwards only

/** Errors of calls on which no service has worked, so that making them again adds nothing to any load. */
const sparing = new WeakSet<ContextKeepError>();

/** Say of an error that it takes nothing from the budget, and return it. */
export function sparesBudget<E extends ContextKeepError>(error: E): E {
  sparing.add(error);
  return error;
}

/** The token bucket of gRPC's retry throttling (gRFC A6), one per client. */
export class RetryBudget {
  static readonly TOKENS_MAX = 20;
  static readonly TOKENS_PER_SUCCESS = 0.2;

  private tokens = RetryBudget.TOKENS_MAX;

  /** Take a token; return whether a retry is within the budget. */
  failed(): boolean {
    this.tokens = Math.max(0, this.tokens - 1);
    return this.tokens > RetryBudget.TOKENS_MAX / 2;
  }

  /** Give back a fraction of a token. */
  succeeded(): void {
    this.tokens = Math.min(RetryBudget.TOKENS_MAX, this.tokens + RetryBudget.TOKENS_PER_SUCCESS);
  }
}

/** The attempts of one call. */
export class Attempts {
  private readonly deadline: number | undefined;
  private backoffMs = BACKOFF_MS;

  /**
   * @param budget Of the client; undefined: no more than what `timeoutMs` allows.
   * @param retries Attempts after the first; 0 for a call that must not happen twice.
   * @param timeoutMs Of all attempts together; undefined: no deadline.
   */
  constructor(
    private readonly budget: RetryBudget | undefined,
    private retries: number,
    timeoutMs: number | undefined,
    private readonly signal: AbortSignal | undefined,
    private readonly retried: readonly (new (message: string) => ContextKeepError)[] = [Unavailable],
  ) {
    this.deadline = timeoutMs === undefined ? undefined : performance.now() + timeoutMs;
  }

  /** The time that is left for the next attempt. */
  remainingMs(): number | undefined {
    return this.deadline === undefined ? undefined : Math.max(0, this.deadline - performance.now());
  }

  succeeded(): void {
    this.budget?.succeeded();
  }

  /** Wait until the next attempt; throw `error` if there is none. */
  async wait(error: unknown): Promise<void> {
    if (!this.isRetried(error)) throw error;
    const withinBudget = sparing.has(error) || (this.budget?.failed() ?? true);
    if (this.retries <= 0 || !withinBudget) throw error;
    this.retries -= 1;
    const delayMs =
      error.retryAfterMs === undefined
        ? this.backoffMs * (1 - JITTER + 2 * JITTER * Math.random())
        : error.retryAfterMs * (1 + JITTER * Math.random());
    this.backoffMs = Math.min(this.backoffMs * BACKOFF_FACTOR, BACKOFF_MS_MAX);
    const remainingMs = this.remainingMs();
    if (remainingMs !== undefined && delayMs >= remainingMs) throw error; // it says more than a deadline later
    await sleep(delayMs, undefined, { signal: this.signal }).catch(() => this.signal?.throwIfAborted());
  }

  private isRetried(error: unknown): error is ContextKeepError {
    return this.retried.some((errorClass) => error instanceof errorClass);
  }

  /** Return what `attempt` returns, trying again as long as there are attempts. */
  async run<T>(attempt: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        const result = await attempt();
        this.succeeded();
        return result;
      } catch (error) {
        await this.wait(error);
      }
    }
  }
}
