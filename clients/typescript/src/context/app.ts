/** The app that calls are about, and where their service is. */

import type { ClientOptions } from "../client.js";
import { ObservedClient } from "../observing.js";

export interface ContextClientOptions extends ClientOptions {
  /** The app that records, mappings and histories belong to where a call does not say. Else `CONTEXT_SERVICE_APP_ID`. */
  appId?: string;
}

/** What the calls of all nouns of the Context Service stand on. */
export abstract class AppClient extends ObservedClient {
  protected readonly appId: string;

  /** The address is else that of `CONTEXT_SERVICE_ADDRESS`, else 127.0.0.1:50051. */
  constructor(options: ContextClientOptions = {}) {
    super(options, { name: "context-service", variable: "CONTEXT_SERVICE_ADDRESS", address: "127.0.0.1:50051" });
    this.appId = options.appId ?? process.env.CONTEXT_SERVICE_APP_ID ?? "";
  }
}
