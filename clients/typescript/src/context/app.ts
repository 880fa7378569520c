/** The app and the address of calls to the Context Service. */

import { type CallOptions, Client, type ClientOptions } from "../client.js";

export interface ContextClientOptions extends ClientOptions {
  /** The app of records, mappings and histories whose call names no app. Default: `CONTEXT_SERVICE_APP_ID`. */
  appId?: string;
}

/** Options of a call about data of users. */
export interface ContextOptions extends CallOptions {
  /**
   * The user to act for. A key without a user needs the scope `delegate` to name one; otherwise it sees data without an
   * owner.
   */
  subjectUserId?: string;
}

/** The client with which the nouns of the Context Service make their calls. */
export abstract class AppClient extends Client {
  /** @internal */
  readonly appId: string;

  /** The default address is `CONTEXT_SERVICE_ADDRESS`, or 127.0.0.1:50051. */
  constructor(options: ContextClientOptions = {}) {
    super(options, { name: "context-service", variable: "CONTEXT_SERVICE_ADDRESS", address: "127.0.0.1:50051" });
    this.appId = options.appId ?? process.env.CONTEXT_SERVICE_APP_ID ?? "";
  }
}
