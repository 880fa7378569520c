/** Texts that cannot travel: half of a character (a lone surrogate), for which UTF-8 has no bytes. */

import type { DescMessage } from "@bufbuild/protobuf";

import { InvalidArgument } from "./gen/errors.js";

/**
 * Refuse a message with a text that cannot travel. Encoded, it would become another text without an error.
 *
 * @param path Of the message in its request; empty: it is the request.
 * @throws InvalidArgument A text holds half of a character; the field names it.
 */
export function checkTexts(desc: DescMessage, message: object, path = ""): void {
  for (const field of desc.fields) {
    const value: unknown = field.oneof
      ? oneOf(message, field.oneof.localName, field.localName)
      : (message as Record<string, unknown>)[field.localName];
    if (value === undefined || value === null) continue;
    const name = path ? `${path}.${field.name}` : field.name;
    if (typeof value === "string") checkText(value, name);
    else if (field.fieldKind === "message") checkTexts(field.message, value as object, name);
    else if (field.fieldKind === "list") {
      (value as unknown[]).forEach((item, place) => {
        if (typeof item === "string") checkText(item, `${name}[${place}]`);
        else if (field.listKind === "message") checkTexts(field.message, item as object, `${name}[${place}]`);
      });
    } else if (field.fieldKind === "map") {
      for (const [key, item] of Object.entries(value)) {
        checkText(key, name);
        if (typeof item === "string") checkText(item, `${name}.${key}`);
      }
    }
  }
}

function oneOf(message: object, group: string, name: string): unknown {
  const chosen = (message as Record<string, { case?: string; value?: unknown }>)[group];
  return chosen?.case === name ? chosen.value : undefined;
}

/** @throws InvalidArgument It holds half of a character. */
export function checkText(text: string, field: string): void {
  const half = text.search(/[\uD800-\uDFFF]/u); // in this mode a pair is one character, and no match
  if (half < 0) return;
  const character = `U+${text.charCodeAt(half).toString(16).toUpperCase()}`;
  throw new InvalidArgument(`${field} holds ${character} at ${half}: half of a character, which UTF-8 does not have`, {
    field,
  });
}
