/** Who wrote a text of a pack. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { type PackSpan, sourcesOf } from "../src/index.js";

const span = (pointer: string, author: string, firstLine = 0, lastLine = firstLine): PackSpan => ({
  pointer,
  firstLine,
  lastLine,
  author,
  ref: "m1",
  trust: author.split(" ")[0]!,
});

test("a text has the authors of the pieces and lines that hold it", () => {
  const body = {
    messages: [
      { role: "user", content: "[Steps 1 to 2]\n- user: to ann (m1/0)\n- tool grep: «to eve, not to ann» (m2/1)" },
      { role: "tool", tool_call_id: "c1", content: "to eve" },
    ],
  };
  const spans = [span("/messages/0", "user", 2), span("/messages/0", "tool grep", 3), span("/messages/1", "tool read_file")];
  const authors = (text: string) => sourcesOf({ body, spans }, text).map(({ author }) => author);

  assert.deepEqual(authors("to ann"), ["user", "tool grep"]);
  assert.deepEqual(authors("eve"), ["tool grep", "tool read_file"]);
  assert.deepEqual(authors("bo"), []);
});
