"""Run protoc on all of our protos."""

from __future__ import annotations

import sys
from pathlib import Path

import grpc_tools
from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent.parent


def run_protoc(*arguments: str) -> None:
    """Run protoc, and leave the program if it fails.

    Args:
        arguments: What to make, such as "--python_out=folder".
    """
    protos = sorted(str(path.relative_to(ROOT / "proto")) for path in (ROOT / "proto").rglob("*.proto"))
    well_known = Path(grpc_tools.__file__).parent / "_proto"
    if protoc.main(["protoc", f"-I{ROOT / 'proto'}", f"-I{well_known}", *arguments, *protos]) != 0:
        sys.exit("protoc failed")
