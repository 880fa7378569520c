"""The root of all commands."""

from __future__ import annotations

import click

from contextkeep.cli.agent import agent
from contextkeep.cli.console import console
from contextkeep.cli.context import context
from contextkeep.cli.edge import edge
from contextkeep.cli.erasure import erasure
from contextkeep.cli.graph import graph
from contextkeep.cli.history import history
from contextkeep.cli.kb import kb
from contextkeep.cli.key import audit, key, whoami
from contextkeep.cli.knowledge import knowledge
from contextkeep.cli.mapping import mapping
from contextkeep.cli.mcp import mcp
from contextkeep.cli.memory import memory
from contextkeep.cli.message import message
from contextkeep.cli.moving import move_in
from contextkeep.cli.node import node
from contextkeep.cli.operator import operator, usage
from contextkeep.cli.query import query
from contextkeep.cli.search import search
from contextkeep.cli.sources import sources
from contextkeep.cli.transfer import take_out
from contextkeep.cli.wiki import wiki
from contextkeep.cli.window import window
from contextkeep.cli.wm import wm
from contextkeep.version import __version__

_EPILOG = """\b
Connection of each command, else by the environment variable:
  --context-address  CONTEXT_SERVICE_ADDRESS  Address of the Context Service.
  --entity-address   ENTITY_SERVICE_ADDRESS   Address of the Entity Service.
  --api-key          CONTEXT_SERVICE_API_KEY  API key.
  --app-id           CONTEXT_SERVICE_APP_ID   App whose mappings are used.

Exit codes: 0 done; 1 another error; 2 the command or an argument is wrong; 3 it does not exist; 4 its state forbids
this, or another caller changed it first; 5 the API key is missing, unknown, or lacks the right; 6 the service is
unreachable or busy, or a limit was exceeded; 7 stored data is damaged; 8 `mapping diff` found differences.

\b
Example:
  export CONTEXT_SERVICE_ADDRESS=127.0.0.1:50051 CONTEXT_SERVICE_API_KEY=...
  contextkeep wm list 0197f1f2-0000-7000-8000-000000000001
"""


@click.group(epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__)
def contextkeep() -> None:
    """Context Service: memory and context for AI agents.

    Use it to store conversations, files and facts, and to print the messages that a model should see. Each command
    shows an example with --help.
    """


for _command in (
    context,
    window,
    memory,
    wiki,
    knowledge,
    query,
    sources,
    agent,
    kb,
    mcp,
    message,
    node,
    edge,
    search,
    graph,
    wm,
    history,
    mapping,
    take_out,
    move_in,
    whoami,
    key,
    audit,
    erasure,
    usage,
    operator,
    console,
):
    contextkeep.add_command(_command)
