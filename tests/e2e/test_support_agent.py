"""The agent of a help desk (`examples/support_agent.py`), which knows a customer from earlier contexts."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.commands import Commands
from tests.conftest import KEY, Addresses
from tests.e2e.examples import program


async def test_the_agent_knows_a_customer_who_comes_back(services: Addresses, tmp_path: Path, commands: Commands):
    environment = {"CONTEXT_SERVICE_ADDRESS": services.context, "CONTEXT_SERVICE_API_KEY": KEY}

    done = await asyncio.to_thread(
        commands.run_code, program("support_agent.py"), environment=environment, folder=tmp_path
    )

    assert (done.returncode, done.stderr) == (0, "")
    title, *known = done.stdout.splitlines()
    assert title == "The customer comes back. What the agent knows:"
    assert known == [
        "- My boss lives in Rome. (fact, from m1)",  # which does not end where the customer lives
        "- I moved from Bergen to Oslo in May. (fact, from m1)",
        "- I prefer letters to phone calls. (preference, from m3)",
        "- no longer: I live in Bergen.",
    ]
