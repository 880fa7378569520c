"""What tests of adapters share: a client of the services that `python -m tests.adapters` runs, and names of their own.

`make test` leaves them aside: the frameworks are in another environment.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator

import pytest

from contextkeep import AsyncContextClient

collect_ignore_glob = [] if "CONTEXTKEEP_TEST_POSTGRES" in os.environ else ["test_*.py"]


@pytest.fixture(scope="session")
async def client() -> AsyncIterator[AsyncContextClient]:
    """A client with the addresses of the environment."""
    async with AsyncContextClient() as opened:
        yield opened


@pytest.fixture
def name() -> str:
    """A name that nothing else has: of a session, a thread, a user."""
    return uuid.uuid4().hex


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests counted, such as the operations of the differential tests."""
    counts = [
        f"{name} {count}" for report in terminalreporter.getreports("passed") for name, count in report.user_properties
    ]
    if counts:
        terminalreporter.write_line(f"counted: {', '.join(counts)}")
