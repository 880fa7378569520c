"""Run a service as a pod does: `python -m tests.faults.pod MODULE serve`, in the cgroup of `POD_CGROUP`.

It goes in before it imports anything of ours, so that all of its memory counts.
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    if folder := os.environ.get("POD_CGROUP"):
        (Path(folder) / "cgroup.procs").write_text(str(os.getpid()))
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
