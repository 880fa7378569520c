/** What the methods of a client are about: `client.windows`, `client.contexts`. */

import type { Client } from "./client.js";

/** The methods about one kind of thing. */
export abstract class Noun<C extends Client = Client> {
  constructor(protected readonly client: C) {}
}
