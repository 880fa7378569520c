"""Generate what is derived from the sources: the Python stubs, and `deploy/env.example`.

`--check` writes nothing and fails if a generated file is not what it would be. Needs no network.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import grpc_tools
from grpc_tools import protoc

from context_service.settings import Settings as ContextSettings
from entity_service.settings import Settings as EntitySettings
from service_runtime.settings import ServiceSettings, example

ROOT = Path(__file__).resolve().parent.parent
STUBS = Path("clients/python")
ENV_EXAMPLE = Path("deploy/env.example")


def main() -> None:
    """Write or check every generated file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is stale")
    check = parser.parse_args().check
    stale = []
    for path, content in generated():
        target = ROOT / path
        if target.exists() and target.read_text("utf-8") == content:
            continue
        stale.append(str(path))
        if not check:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content, "utf-8")
            print(f"wrote {path}")  # noqa: T201
    if check and stale:
        sys.exit(f"stale, run `make proto` and commit: {', '.join(stale)}")


def generated() -> Iterator[tuple[Path, str]]:
    """Yield the path below the root and the content of every generated file."""
    yield ENV_EXAMPLE, env_example()
    with tempfile.TemporaryDirectory() as folder:
        protos = sorted(str(path.relative_to(ROOT / "proto")) for path in (ROOT / "proto").rglob("*.proto"))
        well_known = Path(grpc_tools.__file__).parent / "_proto"
        arguments = ["protoc", f"-I{ROOT / 'proto'}", f"-I{well_known}"]
        arguments += [f"--{kind}_out={folder}" for kind in ("python", "pyi", "grpc_python")]
        if protoc.main([*arguments, *protos]) != 0:
            sys.exit("protoc failed")
        for path in sorted(Path(folder).rglob("*.py*")):
            yield STUBS / path.relative_to(folder), path.read_text("utf-8")


def env_example() -> str:
    """Return `deploy/env.example`: every variable of every service, with its meaning and its default."""
    shared = set(ServiceSettings.model_fields)
    return "\n".join(
        [
            "# Every setting, with its default; made from the settings of the services by `make proto`.\n",
            example(ServiceSettings, "Both services"),
            example(EntitySettings, "Entity Service", without=shared),
            example(ContextSettings, "Context Service", without=shared),
        ]
    )


if __name__ == "__main__":
    main()
