/**
 * Keys of stacks in development, which clients on the same machine find by themselves.
 *
 * `make run` keeps its key, by address, in a file that only the account which started it can read:
 * `~/.config/contextkeep/dev.json`, or what `CONTEXTKEEP_DEV_KEYS` names. An entry is `{"key": ..., "pid": ...}` and counts
 * as long as its process runs, so that a key never goes to another program that listens on the port later.
 */

import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

import type { Address } from "./address.js";

// `localhost` may also be ::1, where another account may listen.
const HOST = "127.0.0.1";

/** The key of a stack in development, and the address to send it to; an empty key if no stack of this account runs there. */
export function findDevKey(address: Address): { address: Address; key: string } {
  const none = { address, key: "" };
  if (address.tls || (address.host !== HOST && address.host !== "localhost")) return none;
  const target = `${HOST}:${address.target.slice(address.target.lastIndexOf(":") + 1)}`;
  try {
    const path = process.env.CONTEXTKEEP_DEV_KEYS || join(homedir(), ".config", "contextkeep", "dev.json");
    if (process.getuid && statSync(path).uid !== process.getuid()) return none; // another account's keys
    const entry = (JSON.parse(readFileSync(path, "utf8")) as Record<string, { key?: unknown; pid?: unknown }>)[target];
    if (typeof entry?.key !== "string" || typeof entry.pid !== "number") return none;
    process.kill(entry.pid, 0); // throws if there is no such process of ours
    return { address: { host: HOST, target, tls: false }, key: entry.key };
  } catch {
    return none;
  }
}
