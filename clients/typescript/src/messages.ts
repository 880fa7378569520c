/** Between generated messages and the values that callers see. */

import { InvalidArgument } from "./gen/errors.js";

/** Return what a literal stands for, which may be written in any case: "STATUS" is "status". */
export function choice<T>(field: string, value: string, choices: Readonly<Record<string, T>>): T {
  const name = String(value).toLowerCase();
  const found = Object.entries(choices).find(([each]) => each.toLowerCase() === name);
  if (!found) {
    throw new InvalidArgument(`${field} is ${JSON.stringify(value)}, not one of ${Object.keys(choices).join(", ")}`, {
      field,
    });
  }
  return found[1];
}

/** Return the text of an enum's value: `RECORD_STATUS_ACTIVE` is "active"; "unknown": this client is older than the service. */
export function enumText<T extends string>(names: Readonly<Record<number, string>>, value: number): T | "unknown" {
  const name = names[value];
  return name === undefined || name === "UNSPECIFIED" ? "unknown" : (name.toLowerCase() as T);
}

type EnumNames<E> = Readonly<Record<string, E | string>>;

/**
 * Return the value of an enum by its name, which may be written in any case; undefined stays so.
 *
 * @throws InvalidArgument The enum has no such name.
 */
export function enumInput<E extends number>(field: string, value: string, names: EnumNames<E>): E;
export function enumInput<E extends number>(field: string, value: string | undefined, names: EnumNames<E>): E | undefined;
export function enumInput<E extends number>(
  field: string,
  value: string | undefined,
  names: EnumNames<E>,
): E | undefined {
  if (value === undefined) return undefined;
  const found = names[String(value).toUpperCase()];
  if (typeof found === "number" && found !== 0) return found;
  const known = Object.keys(names).filter((name) => names[name] && typeof names[name] === "number");
  throw new InvalidArgument(`${field} is ${JSON.stringify(value)}, not one of ${known.join(", ").toLowerCase()}`, { field });
}

/**
 * Return a whole number as generated messages have 64-bit ones.
 *
 * @throws InvalidArgument It is not whole.
 */
export function whole(field: string, value: number | bigint | undefined): bigint | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "number" && !Number.isSafeInteger(value)) {
    throw new InvalidArgument(`${field} is ${value}, not a whole number below 2^53`, { field });
  }
  return BigInt(value);
}

/** Return fields of a message; undefined: none of them is given. */
export function given<F extends object>(fields: F): F | undefined {
  return Object.values(fields).some((value) => value !== undefined) ? fields : undefined;
}

/** Return the mask of an update: undefined fields stay, empty values empty a field. */
export function maskOf(changes: Record<string, unknown>): { paths: string[] } {
  return { paths: Object.keys(changes).filter((path) => changes[path] !== undefined) };
}
