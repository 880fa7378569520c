"""Counts of OpenAI's encodings are those of tiktoken: of the very tokenizer, which npm has with its vocabularies."""

from __future__ import annotations

import base64
import json
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from context_service.kernel.tokens import TokenCounter
from tests.context_service.kernel.test_tokens import DATA, PROSE

ROOT = Path(__file__).parents[3]
TIKTOKEN = ROOT / "node_modules/tiktoken"

COUNTED = """
const { get_encoding } = require("tiktoken");
const texts = JSON.parse(require("fs").readFileSync(0, "utf8"));
const counts = {};
for (const name of ["o200k_base", "cl100k_base"]) {
  const encoding = get_encoding(name);
  counts[name] = texts.map((text) => encoding.encode_ordinary(text).length);
}
console.log(JSON.stringify(counts));
"""

LETTERS = [chr(code) for code in [*range(0x20, 0x3000), *range(0xA000, 0xD7A4), *range(0xF900, 0xFFFE)]]
PICTURES = "😂🔥👩‍👩‍👧‍👦🏳️‍🌈👍🏽❤️🇩🇪1️⃣🫠✅→…“”–—"
CONTROLS = [chr(code) for code in [*range(0x20), *range(0x7F, 0xA1), 0x200B, 0x200D, 0x202E, 0x2028, 0xFEFF, 0xFFFD]]
SPACES = ["  ", " ", "\t", "\n", "\r\n", "\u00a0", "\u3000", "\u2003", "\x0b", "\x85"]
WORDS = [
    *["I'll", "we'Ve", "don’t", "IT'S", "'s", "o'clock", "naïve", "Straße", "ΑΣ", "ǅ", "ﬁ", "ſ", "K", "a\u0300\u0327"],
    *["1", "12", "123", "1234", "12345678901", "1.5e-9", "½", "²", "٣٤٥", "Ⅷ", "0x7f", "3,141", "-1"],
    *["HTTPServerError", "getUserName", "snake_case_name", "__init__", "x86", "v2.0.1", "a/b/c.py", "C:\\Users\\x"],
    *["!!!", "...", "?!", "->", "=>", "::", "//", "/**", "*/", "#!", "${x}", "{{", "</div>", "\\n", '"""', "/\r\n"],
]
MARKS = ["endoftext", "endofprompt", "fim_prefix", "fim_middle", "fim_suffix", "im_start", "im_end", "im_sep", "start"]


def texts() -> Iterator[str]:
    """Yield texts of all kinds, the same each time."""
    drawn = random.Random(11)
    yield from [
        "",
        " ",
        "\n",
        "\0",
        "\ud800",
        "hi\udc00, there\udfff!",
        "\ud83d \ude02",
        "<|",
        "|>",
        "hello <|endoftext|> world",
        "<|endoftext|><|endoftext|>",
        "<|im_end|",
    ]
    yield from [f"{left}<|{mark}|>{right}" for mark in MARKS for left, right in [("", ""), ("a", "b"), (" ", "\n")]]
    yield from PROSE.values()
    yield from (text[start : start + 2_000] for text in DATA.values() for start in range(0, 16_000, 4_000))
    for path in ["Makefile", "package.json", "clients/typescript/src/index.ts", "docs/benchmarks.md", "LICENSE"]:
        yield (ROOT / path).read_text("utf-8")[:8_000]
    for _ in range(40):
        yield "".join(drawn.choices(LETTERS, k=drawn.randrange(1, 200)))
        yield "".join(drawn.choice([drawn.choice(CONTROLS), "a", "7"]) for _ in range(drawn.randrange(1, 60)))
        yield "".join(drawn.choice([drawn.choice(WORDS), drawn.choice(SPACES)]) for _ in range(drawn.randrange(1, 80)))
        yield "".join(drawn.choice(SPACES) * drawn.randrange(1, 90) + drawn.choice(WORDS) for _ in range(8))
        yield "".join(drawn.choices(PICTURES + "aé 1", k=drawn.randrange(1, 60)))
        yield drawn.choice("-=*_#. ~<\t\n") * drawn.randrange(1, 400)
        yield base64.b64encode(drawn.randbytes(drawn.randrange(1, 600))).decode()
        yield " ".join(drawn.choice(list(PROSE.values()))[:90] for _ in range(4)).swapcase()
        yield "".join(chr(drawn.randrange(0x110000)) for _ in range(20))  # halves of characters, too


def test_counts_of_openai_are_those_of_tiktoken_for_whatever_text():
    node = shutil.which("node")
    if node is None or not TIKTOKEN.exists():
        reason = "Node is not installed" if node is None else "tiktoken is not installed: run `make npm`"
        assert os.environ.get("CI") != "true", reason
        pytest.skip(reason)
    given = [*texts()]
    ran = subprocess.run(
        [node, "-e", COUNTED], input=json.dumps(given), cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    theirs = json.loads(ran.stdout)

    for family, encoding in (("o200k", "o200k_base"), ("cl100k", "cl100k_base")):
        counter = TokenCounter(family)
        differ = [
            (text[:80], ours, their)
            for text, their in zip(given, theirs[encoding], strict=True)
            if (ours := counter.count(text)) != their
        ]
        assert differ == []
    assert len(given) > 400
