/**
 * Makes the calls of the contract's cases, each by the one method of its RPC: a line of JSON in, a line out.
 *
 * `tests/contract/typescript_client.py` starts it, and compares what a method sent and returned with the case.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { createInterface } from "node:readline";

import { create, toBinary } from "@bufbuild/protobuf";
import { ContextClient, ContextKeepError, EntityClient } from "contextkeep";

// The methods are called by their names, with what the case says: nothing of it has a type here.
/* eslint-disable @typescript-eslint/no-explicit-any */
type Any = any;

interface Call {
  id: number;
  service: "context" | "entity";
  noun: string;
  verb: string;
  key: string;
  /** Send nothing, and answer what would be sent. */
  probe?: boolean;
  /** What the request says, by the names of arguments and options. */
  fields: Record<string, Any>;
  /** Of a stream. */
  content?: string;
}

/** The messages of a call, in base64. */
interface Traffic {
  isProbe: boolean;
  sent: [type: string, bytes: string][];
  answers: [type: string, bytes: string][];
}

const traffic = new AsyncLocalStorage<Traffic>();
const [contextAddress, entityAddress] = process.argv.slice(2) as [string, string];
const clients = {
  context: recorded(new ContextClient({ address: contextAddress, apiKey: "", retries: 0 })),
  entity: recorded(new EntityClient({ address: entityAddress, apiKey: "", retries: 0 })),
};

function encoded(type: Any, message: Any): [string, string] {
  return [type.name, Buffer.from(toBinary(type, create(type, message))).toString("base64")];
}

/** Keep what is sent. Of a probe nothing goes further. */
function sent(of: Traffic, method: Any, message: Any): void {
  of.sent.push(encoded(method.input, message));
  if (of.isProbe) throw new Error("this is a probe");
}

/** Keep what goes over the connection of a client. */
function recorded(client: Any): Any {
  const connection = client.connection;
  const { unary, stream, upload } = connection;
  connection.unary = async (method: Any, request: Any, settings: Any) => {
    const of = traffic.getStore()!;
    sent(of, method, request);
    const answer = await unary.call(connection, method, request, settings);
    of.answers.push(encoded(method.output, answer));
    return answer;
  };
  connection.stream = async function* (method: Any, request: Any, settings: Any) {
    const of = traffic.getStore()!;
    sent(of, method, request);
    for await (const answer of stream.call(connection, method, request, settings)) {
      of.answers.push(encoded(method.output, answer));
      yield answer;
    }
  };
  connection.upload = async (method: Any, messages: AsyncIterator<Any>, settings: Any) => {
    const of = traffic.getStore()!;
    const kept = {
      next: async () => {
        const next = await messages.next();
        if (!next.done) sent(of, method, next.value);
        return next;
      },
      return: (value?: Any) => messages.return?.(value),
    };
    if (of.isProbe) await kept.next();
    const answer = await upload.call(connection, method, kept, settings);
    of.answers.push(encoded(method.output, answer));
    return answer;
  };
  return client;
}

/** The arguments of a method: by the names of its parameters, and everything in the last one, its options. */
function argumentsOf(noun: Any, call: Call): Any[] {
  let owner = noun;
  while (!Object.hasOwn(owner, call.verb) || /^[^)]*\.\.\./.test(String(owner[call.verb]))) owner = Object.getPrototypeOf(owner);
  const names = /\(([^)]*)\)/.exec(String(owner[call.verb]))![1]!.split(",").map((name) => name.split("=")[0]!.trim()).filter(Boolean);
  const content = call.content === undefined ? undefined : Buffer.from(call.content, "base64");
  const options = { ...call.fields, buffer: content, headers: call.key ? { authorization: `Bearer ${call.key}` } : {} };
  return names.map((name, place) => {
    if (name === "source" || name === "part") return content;
    if (name === "open") return (offset: number) => [content!.subarray(offset)];
    const isLast = place === names.length - 1;
    const value = name === "options" ? undefined : call.fields[name];
    if (isLast && (value === undefined || Object.getPrototypeOf(value) === Object.prototype)) return { ...options, ...value };
    const { nodeId, externalId, graphName } = call.fields;
    return value ?? nodeId ?? (externalId === undefined ? "" : { externalId, graphName });
  });
}

/** What a method returns; of one that yields, all of it. */
async function collected(value: Any): Promise<Any> {
  const found = await value;
  if (found === null || typeof found !== "object" || !(Symbol.asyncIterator in found)) return found;
  const rows = [];
  for await (const row of found) rows.push(row);
  return rows;
}

async function answered(call: Call): Promise<Record<string, unknown>> {
  const noun = clients[call.service][call.noun];
  const of: Traffic = { isProbe: call.probe ?? false, sent: [], answers: [] };
  try {
    const value = await traffic.run(of, () => collected(noun[call.verb](...argumentsOf(noun, call))));
    return { ...of, value };
  } catch (error) {
    if (!(error instanceof ContextKeepError)) return { ...of, failed: String(error) };
    const { name, reason, message, metadata, violations } = error;
    return { ...of, error: { name, reason, message, metadata, violations } };
  }
}

/** A value of a request, which says of what JSON has not what it is. */
function given(value: Any): Any {
  if (Array.isArray(value)) return value.map(given);
  if (value === null || typeof value !== "object") return value;
  if (value.$bytes !== undefined) return Buffer.from(value.$bytes, "base64");
  if (value.$unset) return undefined;
  return Object.fromEntries(Object.entries(value).map(([name, of]) => [name, given(of)]));
}

/** JSON of whatever a method returns. */
function plain(this: Any, key: string, value: unknown): unknown {
  const given = this[key];
  if (given instanceof Uint8Array) return { $bytes: Buffer.from(given).toString("base64") };
  if (typeof value === "bigint") return Number(value);
  return key === "client" ? undefined : value; // that of a handle
}

for await (const line of createInterface({ input: process.stdin })) {
  const call: Call = given(JSON.parse(line));
  void answered(call).then((answer) => console.log(JSON.stringify({ id: call.id, ...answer }, plain)));
}
process.exit();
