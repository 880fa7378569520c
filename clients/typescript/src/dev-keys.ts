/**
 * Keys of stacks in development, which clients on the same machine find by themselves.
 *
 * `make run` keeps its key, by address, in a file that only the account which started it can read:
 * `~/.config/contextkeep/dev.json`, or what `CONTEXTKEEP_DEV_KEYS` names. An entry is `{"key": ..., "pid": ...,
 * "started": ...}` and counts as long as its process runs, so that a key never goes to another program that listens on the
 * port later. `started` tells the process from a later one with the same pid.
 */

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
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
    const entry = (JSON.parse(readFileSync(path, "utf8")) as Record<string, { key?: unknown; pid?: unknown; started?: unknown }>)[target];
    if (typeof entry?.key !== "string" || typeof entry.pid !== "number") return none;
    process.kill(entry.pid, 0); // throws if there is no such process of ours
    if (entry.started === "" || entry.started !== startOf(entry.pid)) return none;
    return { address: { host: HOST, target, tls: false }, key: entry.key };
  } catch {
    return none;
  }
}

/** When a process started, as text that no later process with this pid has; the Python client writes the same. */
export function startOf(pid: number): string {
  if (process.platform === "win32") return "unknown";
  if (existsSync("/proc")) {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 1).trim().split(/\s+/)[19] ?? "";
  }
  const env = { ...process.env, LC_ALL: "C", TZ: "UTC" };
  return execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8", env }).trim().split(/\s+/).join(" ");
}
