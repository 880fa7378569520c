"""Generate derived files: stubs in Python and TypeScript, pages of the docs, `deploy/env.example`.

`--check` writes nothing and fails if a generated file is not what it would be. Needs no network. The generator of the
TypeScript stubs and the compiler come from npm (`make npm`): where they are missing, what they make is left alone,
except in CI, where that fails.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Set
from pathlib import Path

import calls_page
import errors_page
import limits_page
import model
import names_page
import python_calls
import python_values
import typescript_calls
import typescript_values
from protos import ROOT, run_protoc

from context_service.settings import McpSettings
from context_service.settings import Settings as ContextSettings
from contextkeep.errors import ContextKeepError
from entity_service.settings import Settings as EntitySettings
from service_runtime.settings import ServiceSettings, example

STUBS = Path("clients/python")
TYPESCRIPT = Path("clients/typescript/src/gen")
TYPESCRIPT_VALUES = Path("clients/typescript/src/_gen")
PLUGIN = ROOT / "node_modules/.bin/protoc-gen-es"
COMPILER = ROOT / "node_modules/.bin/tsc"
CONSOLE = Path("clients/console/contextkeep_console")
# The console confines its readers of files as the services do, and its distribution has no part of theirs.
CONFINEMENT = ("confined", "confinement")
ENV_EXAMPLE = Path("deploy/env.example")
CALLS_PAGE = Path("docs/calls.md")
ERRORS_PAGE = Path("docs/errors.md")
LIMITS_PAGE = Path("docs/limits.md")
NAMES_PAGE = Path("docs/names.md")
# Folders that hold nothing but generated files.
FOLDERS = (python_values.GENERATED, python_calls.GENERATED, TYPESCRIPT_VALUES, CONSOLE / "_gen")


def main() -> None:
    """Write or check every generated file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is stale")
    check = parser.parse_args().check
    stale = []
    written = set()
    for path, content in generated():
        target = ROOT / path
        written.add(target)
        if target.exists() and target.read_text("utf-8") == content:
            continue
        stale.append(str(path))
        if not check:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content, "utf-8")
            print(f"wrote {path}")
    for target in sorted(orphans(written)):
        stale.append(str(target.relative_to(ROOT)))
        if not check:
            target.unlink()
            print(f"removed {stale[-1]}")
    if check and stale:
        sys.exit(f"stale, run `make proto` and commit: {', '.join(stale)}")


def orphans(written: Set[Path]) -> Set[Path]:
    """Return the files of generated folders that nothing generates any more."""
    files = {path for folder in FOLDERS for path in (ROOT / folder).rglob("*.[pt][ys]")}
    return files - written


def generated() -> Iterator[tuple[Path, str]]:
    """Yield the path below the root and the content of every generated file."""
    yield ENV_EXAMPLE, env_example()
    protos = model.load()
    yield CALLS_PAGE, calls_page.page(protos)
    yield ERRORS_PAGE, errors_page.page(protos)
    yield NAMES_PAGE, names_page.page(protos)
    yield from python_values.files(protos)
    yield from python_calls.files(protos)
    for name, content in (*typescript_values.files(protos), *typescript_calls.files(protos)):
        yield TYPESCRIPT_VALUES / name, content
    settings = EntitySettings.model_fields | ContextSettings.model_fields
    defaults = {name.upper(): field.default for name, field in settings.items()}
    yield LIMITS_PAGE, limits_page.page((ROOT / LIMITS_PAGE).read_text("utf-8"), protos, defaults)
    for name, content in compiled(*(f"--{kind}_out={{folder}}" for kind in ("python", "pyi", "grpc_python"))):
        yield STUBS / name, content
    yield TYPESCRIPT / "errors.ts", typescript_errors()
    for name, content in console_confinement():
        yield CONSOLE / "_gen" / name, content
    if PLUGIN.exists():
        options = "target=ts,import_extension=js"
        plugin = f"--plugin=protoc-gen-es={PLUGIN}"
        for name, content in compiled(plugin, "--es_out={folder}", f"--es_opt={options}"):
            yield TYPESCRIPT / name, content
        yield CONSOLE / "static/console.js", console_script()
    elif os.environ.get("CI") == "true":
        sys.exit("the TypeScript stubs cannot be generated: run `make npm`")
    else:
        print("TypeScript stubs: skipped, protoc-gen-es is not installed")


def compiled(*arguments: str) -> Iterator[tuple[Path, str]]:
    """Yield the name and content of every file that protoc makes of the protos; `{folder}` is where it puts them."""
    with tempfile.TemporaryDirectory() as folder:
        run_protoc(*(argument.format(folder=folder) for argument in arguments))
        for path in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
            yield path.relative_to(folder), path.read_text("utf-8")


def console_confinement() -> Iterator[tuple[str, str]]:
    """Yield the console's copies of the modules that confine child processes."""
    source = "service_runtime.child_processes"
    yield "__init__.py", f'"""Copies of modules of `{source}`, made by `make proto`."""\n'
    for name in CONFINEMENT:
        text = (ROOT / source.replace(".", "/") / f"{name}.py").read_text("utf-8")
        copy = text.replace(source, "contextkeep_console._gen")
        yield f"{name}.py", f"# A copy of `{source}.{name}`, made by `make proto`.\n{copy}"


def console_script() -> str:
    """Return what the compiler makes of the console's script; it fails where the types are wrong."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [str(COMPILER), "--project", str(ROOT / CONSOLE / "script"), "--outDir", folder], check=False
        )
        if done.returncode != 0:
            sys.exit("tsc failed")
        return Path(folder, "console.js").read_text("utf-8")


def typescript_errors() -> str:
    """Return the classes of the error table in TypeScript, parents before children."""
    lines = [
        "// Made from contextkeep/errors.py by `make proto`: the same classes, codes and reasons.",
        "",
        'import { ContextKeepError, type StatusCode } from "../error.js";',
    ]

    def write(parent: type[ContextKeepError]) -> None:
        for error in parent.__subclasses__():
            if error.__module__ != ContextKeepError.__module__:
                continue  # a server's own, which never leaves it
            (sentence, *_) = (error.__doc__ or "").strip().splitlines()
            lines.extend(["", f"/** {sentence} */", f"export class {error.__name__} extends {parent.__name__} {{"])
            if error.code is not parent.code:
                lines.append(f'  static override readonly code: StatusCode = "{error.code.name}";')
            lines.extend([f'  static override readonly reason: string = "{error.reason}";', "}"])
            write(error)

    write(ContextKeepError)
    return "\n".join([*lines, ""])


def env_example() -> str:
    """Return `deploy/env.example`: every variable of every service, with its meaning and its default."""
    shared = set(ServiceSettings.model_fields)
    return "\n".join(
        [
            "# Every setting, with its default; made from the settings of the services by `make proto`.\n",
            example(ServiceSettings, "Both services"),
            example(EntitySettings, "Entity Service", without=shared),
            example(ContextSettings, "Context Service", without=shared),
            example(McpSettings, "`context-service mcp`", without=set(ContextSettings.model_fields)),
        ]
    )


if __name__ == "__main__":
    main()
