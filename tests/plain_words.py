"""Count the private words of this project's prose by package, and fail where a count rises.

Prose is what a person reads: comments, docstrings, messages, docs, protos and SQL. Tests, generated files and the
CHANGELOG are left out. The limits are in `pyproject.toml`, `[tool.plain_words]`; `--lower` writes today's counts there
where they are lower, and never raises one. `--list PACKAGE` prints each place.
"""

import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SUFFIXES = (".py", ".md", ".proto", ".sql", ".ts", ".html", ".yaml", ".sh")
LEFT_OUT = re.compile(
    r"_pb2|/gen/|/_gen/|/sync/|^tests/|^CHANGELOG|schema\.sql$|^docs/(calls|errors|limits|names)\.md$"
    r"|^bench/handover/(analysis|coding|support)\.py$"  # people of all kinds speak there
)

# What a stranger reads twice, and what to write instead.
WORDS = {
    "behind": (r"\bbehind\b", "after"),
    "beside": (r"\bbeside\b", "next to; off the event loop; in parallel"),
    "anew": (r"\banew\b", "again"),
    "whoever": (r"\bwho(ever|soever)\b", "the caller who; anyone who"),
    "nobody": (r"\b(no|some|every)body('s)?\b", "name the reader, caller or program"),
    "shall": (r"\bshall\b", "must"),
    "; None:": (r"[;.] None: ", "None if there is no ..."),
    "as noun": (
        r"\b([Ww]hat|[Ww]ho) (is|are|was|were|has|have|does|do|may|can|comes|goes|stands)\b(?![^.;]*\?)",
        "the rows that match, not what matches",
    ),
    "he": (r"\b(he|his|him)\b", "it, for programs; they, for people"),
    "likewise": (r"\b[Ll]ikewise\b", "also; in the same way"),
    "so many": (r"\bso many\b", "the number; `limit`"),
    "be told": (r"\b(is|are|be|was) (told|said|asked|owed)\b", "say who tells, asks or owes"),
    "looks again": (r"\blooks? again\b", "retries; polls"),
    "of which": (r"\b(of|by|in) (which|what|whom)\b", "two sentences"),
}
# Names that say what happened to a thing, not what it is.
NAMES = re.compile(r"\bfor one in\b|\bone = ")


def prose(path: str, text: str) -> Iterator[tuple[int, str]]:
    """Yield the line number and the text of each piece of prose in a file."""
    if not path.endswith(".py"):
        yield from enumerate(text.splitlines(), 1)
        return
    parts = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in parts:
                yield token.start[0], token.string
    except (tokenize.TokenError, SyntaxError):
        yield 1, text


def package(path: str) -> str:
    """Return the package that a path belongs to: its first folder, or its first two in `clients/`."""
    parts = path.split("/")
    if len(parts) == 1:
        return "root"
    return "/".join(parts[:2]) if parts[0] == "clients" else parts[0]


def places() -> Iterator[tuple[str, str, int, str]]:
    """Yield package, path, line and word of each private word."""
    listing = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for path in listing.splitlines():
        if not path.endswith(SUFFIXES) or LEFT_OUT.search(path) or not (ROOT / path).is_file():
            continue
        text = (ROOT / path).read_text(encoding="utf-8", errors="replace")
        for line, part in prose(path, text):
            for word, (pattern, _) in WORDS.items():
                for match in re.finditer(pattern, part):
                    yield package(path), path, line + part[: match.start()].count("\n"), word
        if path.endswith(".py"):
            for match in NAMES.finditer(text):
                yield package(path), path, text[: match.start()].count("\n") + 1, "a name `one`"


def limits() -> dict[str, int]:
    """Return the highest count that each package may have."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return dict(document["tool"]["plain_words"])


def lower(counts: Counter[str]) -> None:
    """Write the counts of packages that have fewer private words than their limit."""
    path = ROOT / "pyproject.toml"
    text = path.read_text()
    for name, limit in limits().items():
        line = re.compile(rf"(?m)^(\"?{re.escape(name)}\"? = ){limit}$")
        text = line.sub(rf"\g<1>{min(limit, counts[name])}", text)
    path.write_text(text)


def main(arguments: list[str]) -> int:
    """Check the counts, list the places of a package, or lower the limits."""
    marks = list(places())
    counts = Counter(name for name, *_ in marks)
    if arguments[:1] == ["--list"]:
        for name, path, line, word in marks:
            if name in arguments[1:] or path.startswith(tuple(arguments[1:])):
                instead = WORDS[word][1] if word in WORDS else "a noun"
                print(f"{path}:{line}: {word} ({instead})")
        return 0
    if arguments == ["--lower"]:
        lower(counts)
        return 0
    higher = {name: (count, limits().get(name, 0)) for name, count in counts.items() if count > limits().get(name, 0)}
    for name, (count, limit) in sorted(higher.items()):
        print(f"{name}: {count} private words, and at most {limit} are allowed: tests/plain_words.py --list {name}")
    return bool(higher)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
