"""`make test-adapters`: each adapter in a real run of its framework, in an environment of its own, over real services.

`python -m tests.adapters [NAME ...] [--oldest]`. The services run as in development; what the tests call them by is in
the environment, as an app has it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from bench.stack import running
from tests.frameworks import environment

FOLDER = Path(__file__).parent


def main() -> int:
    """Run what is named, or all; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(environment.extras())}; none: all")
    parser.add_argument("--oldest", action="store_true", help="at the oldest versions that the extras allow")
    given = parser.parse_args()
    names = given.names or list(environment.extras())
    if unknown := set(names) - set(environment.extras()):
        parser.error(f"there is no adapter {', '.join(sorted(unknown))}")
    with running() as (stack, _):
        called = {
            "CONTEXT_SERVICE_ADDRESS": stack.context_address,
            "ENTITY_SERVICE_ADDRESS": stack.entity_address,
            "CONTEXTKEEP_TEST_POSTGRES": stack.postgres.url(role="postgres"),
        }
        if not given.oldest:
            return _tested(environment.pinned(), names, called)
        return max(_tested(environment.oldest(name), [name], called) for name in names)


def _tested(made: environment.Environment, names: list[str], called: dict[str, str]) -> int:
    """Run the tests of the frameworks that are named. Our own settings of pytest, and its fixtures, stay outside."""
    files = [str(FOLDER / f"test_{name.replace('-', '_')}.py") for name in names] + [str(FOLDER / "test_pages.py")]
    if set(names) == set(environment.extras()):
        # From the frameworks' own stores, and next to them.
        files += [str(FOLDER / f"test_{name}.py") for name in ("moving", "differential")]
    pytest = [str(made.python), "-m", "pytest", "-c", str(FOLDER / "pytest.ini"), "--rootdir", str(FOLDER)]
    command = [*pytest, "--confcutdir", str(FOLDER), "--numprocesses", "2", "--dist", "loadfile", *files]
    called = called | {"CONTEXTKEEP_TEST_ADAPTERS": " ".join(names)}
    return subprocess.run(command, env=os.environ | called, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
