/** The app that calls are about, and where their service is. */

import { type CallOptions, Client, type ClientOptions } from "../client.js";

export interface ContextClientOptions extends ClientOptions {
  /** The app that records, mappings and histories belong to where a call does not say. Else `CONTEXT_SERVICE_APP_ID`. */
  appId?: string;
}

/** Of a call about what users own. */
export interface ContextOptions extends CallOptions {
  /** The user to act for; a key without a user needs the scope `delegate` for it. Otherwise it sees data without an
  owner. */
  subjectUserId?: string;
}

/** What the nouns of the Context Service call with. */
export abstract class AppClient extends Client {
  /** @internal */
  readonly appId: string;

  /** The address is else that of `CONTEXT_SERVICE_ADDRESS`, else 127.0.0.1:50051. */
  constructor(options: ContextClientOptions = {}) {
    super(options, { name: "context-service", variable: "CONTEXT_SERVICE_ADDRESS", address: "127.0.0.1:50051" });
    this.appId = options.appId ?? process.env.CONTEXT_SERVICE_APP_ID ?? "";
  }
}
