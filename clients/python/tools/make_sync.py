"""Make `contextgraph/client/sync.py` from `aio.py`.

    python clients/python/tools/make_sync.py            write it
    python clients/python/tools/make_sync.py --check    fail if it is stale

Names lose their `Async`, `await` and its kin go, and the module of what waits becomes its sync twin. Nothing else may
differ: what does belongs into `_aio_io.py` and `_sync_io.py`.
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

import tokenize_rt
import unasync

CLIENT = Path(__file__).resolve().parents[1] / "contextgraph" / "client"
SOURCE = CLIENT / "aio.py"
TARGET = CLIENT / "sync.py"

HEADER = "# Generated from aio.py by tools/make_sync.py: change that file and run `make sync-client`.\n"

# Beside those that unasync knows.
NAMES = {
    "AsyncContextClient": "ContextClient",
    "AsyncEntityClient": "EntityClient",
    "AsyncBlobReader": "BlobReader",
    "_AsyncClient": "_Client",
    "_aio_io": "_sync_io",
    "aclose": "close",
    "aclosing": "closing",
    "anext": "next",
}
_ASYNC = re.compile(r"async|await|_?Async\w+|_?aio\w*|asyncio|aclos\w+|aiter|anext|__a(enter|exit|iter|next)__")
DOCSTRING = (
    "The async clients. The sync ones are generated from this file: see `tools/make_sync.py`.",
    "The clients: what `aio.py` has for async callers, for everybody else.",
)


def generated() -> str:
    """Return the text that `sync.py` should have."""
    source = SOURCE.read_text()
    if DOCSTRING[0] not in source:
        raise SystemExit(f"{SOURCE.name} does not begin with the docstring that is replaced here")
    rule = unasync.Rule("aio", "sync", additional_replacements=NAMES)
    # `_unasync_tokens` is where the library's work is; its public door only copies whole folders.
    tokens = rule._unasync_tokens(tokenize_rt.src_to_tokens(source.replace(*DOCSTRING)))
    text = _with_generators(tokenize_rt.tokens_to_src(list(tokens)))
    text = _with_callables(text)
    text = _ruff(["check", "--fix", "--unsafe-fixes", "--quiet"], HEADER + text)
    text = _ruff(["format", "--quiet"], text)
    _refuse_leftovers(text)
    return text


def _with_generators(text: str) -> str:
    """Give generators their third type: an async one cannot return a value."""
    return re.sub(r"\bGenerator\[([^\[\]]+), None\]", r"Generator[\1, None, None]", text)


def _with_callables(text: str) -> str:
    """Make a function that returned an awaitable return the value itself."""
    return text.replace("Awaitable[_T]", "_T").replace("Awaitable, ", "")


def _ruff(arguments: list[str], text: str) -> str:
    command = [sys.executable, "-m", "ruff", *arguments, "--stdin-filename", str(TARGET), "-"]
    finished = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise SystemExit(
            f"ruff {arguments[0]} refuses the result:\n{finished.stdout[len(text) - 1000 :]}{finished.stderr}"
        )
    return finished.stdout


def _refuse_leftovers(text: str) -> None:
    """Fail on anything async that no rule renamed."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME and _ASYNC.fullmatch(token.string):
            raise SystemExit(f"{TARGET.name}:{token.start[0]}: {token.string} is still there; give it a rule")


def main() -> None:
    """Write the file, or with `--check` only compare."""
    parser = argparse.ArgumentParser(description="Make the sync client from the async one.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the file is stale")
    check = parser.parse_args().check
    text = generated()
    if check:
        if not TARGET.exists() or TARGET.read_text() != text:
            raise SystemExit(f"{TARGET.name} is stale: run `make sync-client` and commit it")
    else:
        TARGET.write_text(text)


if __name__ == "__main__":
    main()
