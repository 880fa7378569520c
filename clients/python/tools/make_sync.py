"""Make the package `contextkeep/client/sync` from `contextkeep/client/aio`, module by module.

    python clients/python/tools/make_sync.py            write it
    python clients/python/tools/make_sync.py --check    fail if it is stale

Names lose their `Async`, `await` is removed, and modules that wait are replaced by their sync twins. All other
differences belong into `_aio_io.py` and `_sync_io.py`.
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

CLIENT = Path(__file__).resolve().parents[1] / "contextkeep" / "client"
SOURCE = CLIENT / "aio"
TARGET = CLIENT / "sync"

# Beside those that unasync knows.
NAMES = {
    "AsyncContextClient": "ContextClient",
    "AsyncEntityClient": "EntityClient",
    "AsyncBlobReader": "BlobReader",
    "AsyncClient": "Client",
    "_aio_io": "_sync_io",
    "aio": "sync",
    "aclose": "close",
    "aclosing": "closing",
    "anext": "next",
}
_ASYNC = re.compile(r"async|await|_?Async\w+|_?aio\w*|asyncio|aclos\w+|aiter|anext|__a(enter|exit|iter|next)__")
# Of the package itself.
DOCSTRINGS = (
    "The async clients. The sync ones are generated from this package: see `tools/make_sync.py`.",
    "The clients: sync twins of the clients in `aio`.",
)


def generated() -> dict[Path, str]:
    """Return the files that `sync` should have, by their paths, with their texts."""
    sources = sorted(SOURCE.rglob("*.py"))
    if DOCSTRINGS[0] not in (SOURCE / "__init__.py").read_text():
        raise SystemExit(f"{SOURCE.name} does not begin with the docstring that is replaced here")
    return {TARGET / source.relative_to(SOURCE): _sync_of(source) for source in sources}


def _sync_of(source: Path) -> str:
    name = source.relative_to(CLIENT)
    rule = unasync.Rule("aio", "sync", additional_replacements=NAMES)
    # `_unasync_tokens` is where the library's work is; its public function only copies whole folders.
    tokens = rule._unasync_tokens(tokenize_rt.src_to_tokens(source.read_text().replace(*DOCSTRINGS)))
    text = _with_generators(tokenize_rt.tokens_to_src(list(tokens)))
    text = _with_callables(text)
    header = f"# Generated from {name} by tools/make_sync.py: change that file and run `make sync-client`.\n"
    # The docstrings of generated calls are comments of the protos, which describe fewer arguments.
    ignored = ["--ignore=D"] if "_gen" in source.parts else []
    text = _ruff(["check", "--fix", "--unsafe-fixes", "--quiet", *ignored], header + text, source)
    text = _ruff(["format", "--quiet"], text, source)
    _refuse_leftovers(text, name)
    return text


def _with_generators(text: str) -> str:
    """Give generators their third type: an async one cannot return a value."""
    return re.sub(r"\bGenerator\[([^\[\]]+), None\]", r"Generator[\1, None, None]", text)


def _with_callables(text: str) -> str:
    """Make a function that returned an awaitable return the value itself."""
    text = re.sub(r"(?:Awaitable\[|Coroutine\[Any, Any, )(\w+)\]", r"\1", text)
    return text.replace("Awaitable, ", "").replace("Coroutine, ", "")


def _ruff(arguments: list[str], text: str, source: Path) -> str:
    # Under the name of the source: the target may not exist yet, and ruff sorts imports by existing modules.
    command = [sys.executable, "-m", "ruff", *arguments, "--stdin-filename", str(source), "-"]
    finished = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if finished.returncode:
        result = finished.stdout[len(text) - 1000 :] + finished.stderr
        raise SystemExit(f"ruff {arguments[0]} refuses the twin of {source.name}:\n{result}")
    return finished.stdout


def _refuse_leftovers(text: str, name: Path) -> None:
    """Fail on anything async that no rule renamed."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME and _ASYNC.fullmatch(token.string):
            raise SystemExit(
                f"{name}: {token.string} is still there in line {token.start[0]} of its twin; give it a rule"
            )


def main() -> None:
    """Write the files, or with `--check` only compare."""
    parser = argparse.ArgumentParser(description="Make the sync client from the async one.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is stale")
    check = parser.parse_args().check
    texts = generated()
    values = {path: path.read_text() for path in TARGET.rglob("*.py")}
    stale = sorted(path for path in texts.keys() | values.keys() if texts.get(path) != values.get(path))
    if check and stale:
        names = ", ".join(str(path.relative_to(CLIENT)) for path in stale)
        raise SystemExit(f"stale: {names}. Run `make sync-client` and commit it")
    for path in stale:
        if path in texts:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(texts[path])
        else:
            path.unlink()


if __name__ == "__main__":
    main()
