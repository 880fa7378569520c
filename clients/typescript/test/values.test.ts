/** JSON, times, ids and errors: what needs no service. */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import * as contextkeep from "contextkeep";
import { InvalidArgument, newId, parseJson, toJson } from "contextkeep";

import { parseAddress } from "../src/address.js";
import { findDevKey, startOf } from "../src/dev-keys.js";
import { errorOf } from "../src/status.js";
import { timeText, toTimestamp } from "../src/times.js";
import { VERSION } from "../src/version.js";

test("whole numbers beyond 2^53 keep every digit, up to 64 bits", () => {
  const same: [string, unknown][] = [
    ["9007199254740991", 2 ** 53 - 1],
    ["9007199254740992", 2n ** 53n],
    ["-9007199254740993", -(2n ** 53n) - 1n],
    ["18446744073709551615", 2n ** 64n - 1n],
    ["-9223372036854775808", -(2n ** 63n)],
    ['{"id":[9007199254740993],"n":1}', { id: [2n ** 53n + 1n], n: 1 }],
    ['"9007199254740993"', "9007199254740993"],
    ['"a\\"9007199254740993"', 'a"9007199254740993'],
    ["1234567890.5", 1234567890.5],
  ];
  for (const [text, value] of same) {
    assert.deepEqual(parseJson(text), value);
    assert.equal(toJson(value), text);
  }
  assert.equal(parseJson("18446744073709551616"), 2 ** 64); // more than 64 bits: as JSON.parse reads it
  assert.equal(parseJson("12345678901234567.5"), 12345678901234567.5);
  assert.equal(parseJson("12345678901234567e3"), 12345678901234567e3);
  assert.deepEqual(parseJson('{"__proto__": 9007199254740993}'), JSON.parse('{"__proto__": 0}', (_, v) => v || 2n ** 53n + 1n));
});

test("what JSON has not is refused, not changed", () => {
  const circle: { self?: unknown } = {};
  circle.self = circle;
  for (const value of [Number.NaN, [Number.POSITIVE_INFINITY], { a: Number.NaN }, circle, undefined, () => 1, Symbol("a")]) {
    assert.throws(() => toJson(value), InvalidArgument);
  }
  assert.equal(toJson({ a: undefined, when: new Date(0) }), '{"when":"1970-01-01T00:00:00.000Z"}');
});

test("times keep their microseconds, and one without a zone is refused", () => {
  const again: [Date | string, string][] = [
    ["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.000000Z"],
    ["2026-01-31T12:00:00.000001-05:30", "2026-01-31T17:30:00.000001Z"],
    ["1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z"],
    [new Date(1.5e12 + 7), "2017-07-14T02:40:00.007000Z"],
    [new Date(-1), "1969-12-31T23:59:59.999000Z"],
  ];
  for (const [time, text] of again) assert.equal(timeText(toTimestamp(time, "t")), text);
  assert.equal(toTimestamp(undefined, "t"), undefined);
  for (const time of ["2026-01-31T12:00:00", "2026-13-01T00:00:00Z", "soon", new Date(Number.NaN)]) {
    assert.throws(() => toTimestamp(time, "t"), InvalidArgument);
  }
});

test("ids are UUIDs of version 7 that begin with the time", () => {
  const id = newId();
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.ok(Math.abs(Number.parseInt(id.replace("-", "").slice(0, 12), 16) - Date.now()) < 60_000);
  assert.equal(new Set(Array.from({ length: 1_000 }, newId)).size, 1_000);
});

test("every error that the services raise arrives as the class of its name, with all that it carries", () => {
  const raised = JSON.parse(readFileSync(process.env.RAISED_ERRORS!, "utf8"));
  assert.ok(raised.length > 50);
  for (const { name, parent, code, status, reason, message, details } of raised) {
    const error = errorOf(status, "not read", Buffer.from(details, "base64"));

    assert.equal(error.name, name);
    assert.ok(error instanceof (contextkeep as never as Record<string, new () => Error>)[parent]!);
    assert.equal(error.code, code);
    assert.equal(error.reason, reason);
    assert.equal(error.message, message);
    assert.deepEqual(error.metadata, { limit: "names_max", value: "ü" });
    assert.deepEqual(error.violations, [
      { field: "a.b", description: "too long" },
      { field: "c", description: "missing" },
    ]);
    assert.equal(error.retryAfterMs, 1_250);
  }
});

test("a reason that is not known, and a status that is not ours, keep what they say", () => {
  const unknown = errorOf(5, "gone", Buffer.from("not protobuf"));
  assert.ok(unknown instanceof contextkeep.NotFound);
  assert.deepEqual([unknown.message, unknown.reason], ["gone", "NOT_FOUND"]);
  assert.equal(errorOf(99, "what").code, "UNKNOWN");
  assert.equal(errorOf(2, "what").name, "ContextKeepError");
});

test("the version is that of the package", () => {
  assert.equal(VERSION, JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")).version);
});

test("the key of a stack in development goes to its own address alone, and only while it runs", () => {
  const folder = mkdtempSync(join(tmpdir(), "keys-"));
  const path = join(folder, "dev.json");
  const write = (pid: number, started: string) =>
    writeFileSync(path, JSON.stringify({ "127.0.0.1:50051": { key: "cgk_dev", pid, started } }));
  const before = process.env.CONTEXTKEEP_DEV_KEYS;
  process.env.CONTEXTKEEP_DEV_KEYS = path;
  const keyOf = (address: string) => findDevKey(parseAddress(address));
  try {
    write(process.pid, startOf(process.pid));
    assert.equal(keyOf("127.0.0.1:50051").key, "cgk_dev");
    assert.deepEqual(keyOf("localhost:50051"), {
      address: { host: "127.0.0.1", target: "127.0.0.1:50051", tls: false },
      key: "cgk_dev",
    });
    for (const other of ["127.0.0.1:50052", "[::1]:50051", "https://127.0.0.1:50051", "example.com:50051"]) {
      assert.equal(keyOf(other).key, "");
    }
    write(2 ** 22 + 1, "1"); // no process has this number
    assert.equal(keyOf("127.0.0.1:50051").key, "");
    for (const started of ["1", ""]) {
      write(process.pid, started); // a later process has it now
      assert.equal(keyOf("127.0.0.1:50051").key, "");
    }
    writeFileSync(path, "{");
    assert.equal(keyOf("127.0.0.1:50051").key, "");
  } finally {
    if (before === undefined) delete process.env.CONTEXTKEEP_DEV_KEYS;
    else process.env.CONTEXTKEEP_DEV_KEYS = before;
    rmSync(folder, { recursive: true });
  }
});
