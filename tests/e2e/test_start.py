"""A service starts often: at each deployment, for each replica, in each `make run`."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("service", ["context_service", "entity_service"])
def test_serve_loads_nothing_that_only_other_commands_show_things_with(service: str):
    """A tenth of the time."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DATABASE_")}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", service, "serve"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "DATABASE_URL is not set" in done.stderr
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert f"{service}.app" in loaded
    assert not {name for name in loaded if name.partition(".")[0] == "rich"}
