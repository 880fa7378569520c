/** What the methods of a client are about: `client.windows`, `client.contexts`. */

import type { Client } from "./client.js";

/** The methods about one kind of thing. */
export abstract class Noun<C extends Client = Client> {
  constructor(protected readonly client: C) {}
}

type Method = (first: never, ...rest: never[]) => unknown;

/** What a method takes after its first argument. */
export type Rest<M extends Method> = M extends (first: never, ...rest: infer R) => unknown ? R : never;

/** The first argument of a method. */
export type Argument<M extends Method> = Parameters<M>[0];

/** The options of a method with one argument. */
export type Options<M extends Method> = NonNullable<Parameters<M>[1]>;
