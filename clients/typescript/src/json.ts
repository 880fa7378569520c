/**
 * JSON without loss.
 *
 * A whole number beyond 2^53 is no longer exact as a `number`: where it fits 64 bits it is read as a `bigint`, and a `bigint`
 * is written as a whole number. All else is as `JSON.parse` and `JSON.stringify` have it, except that NaN and infinity, which
 * JSON has not, are refused instead of becoming null.
 */

import { randomUUID } from "node:crypto";

import { InvalidArgument } from "./gen/errors.js";
import { checkText } from "./texts.js";

/** A JSON object as it is read. */
export type JsonObject = { [name: string]: any };

const INT64_MIN = -(2n ** 63n);
const UINT64_MAX = 2n ** 64n - 1n;
const LONG_NUMBER = /[0-9]{16}/;
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/g;

/** Return the value of a JSON text; whole numbers from 2^53 to 64 bits are `bigint`. */
export function parseJson(text: string): any {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text);
  const mark = `${randomUUID()}:`; // no text can hold it
  let marked = false;
  const changed = text.replace(STRING_OR_NUMBER, (token) => {
    if (token.length < 16 || !/^-?[0-9]+$/.test(token)) return token;
    const value = BigInt(token);
    if (Number.isSafeInteger(Number(token)) || value < INT64_MIN || value > UINT64_MAX) return token;
    marked = true;
    return `"${mark}${token}"`;
  });
  if (!marked) return JSON.parse(text);
  return JSON.parse(changed, (_name, value) =>
    typeof value === "string" && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  );
}

/** Return the value of a JSON object's text; empty text is an empty object. */
export function parseObject(text: string): JsonObject {
  return text ? parseJson(text) : {};
}

/**
 * Return the JSON text of a value; a `bigint` is a whole number.
 *
 * @param field What to call the value in an error.
 * @throws InvalidArgument It holds NaN, infinity, half of a character, itself, or is nothing that JSON has.
 */
export function toJson(value: unknown, field = "value"): string {
  const mark = `${randomUUID()}:`;
  let marked = false;
  let text: string | undefined;
  try {
    text = JSON.stringify(value, (name, member) => {
      if (typeof member === "number" && !Number.isFinite(member)) {
        throw new TypeError(`${name ? JSON.stringify(name) : "it"} is ${member}`);
      }
      for (const text of [name, member]) if (typeof text === "string") checkText(text, field);
      if (typeof member !== "bigint") return member;
      marked = true;
      return `${mark}${member}`;
    });
  } catch (error) {
    if (error instanceof InvalidArgument) throw error;
    throw new InvalidArgument(`${field} cannot be written as JSON: ${(error as Error).message}`, { field, cause: error });
  }
  if (text === undefined) throw new InvalidArgument(`${field} cannot be written as JSON: it is ${typeof value}`, { field });
  return marked ? text.replaceAll(new RegExp(`"${mark}(-?[0-9]+)"`, "g"), "$1") : text;
}

/** Return the JSON text of an object; undefined is empty text, which is an empty object. */
export function toObject(value: object | undefined, field: string): string {
  if (value === undefined) return "";
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new InvalidArgument(`${field} is no JSON object`, { field });
  }
  return toJson(value, field);
}
