"""`contextkeep context setting`: what the service may do with the contexts of a tenant, an app or an agent."""

from __future__ import annotations

from typing import Literal

import click

from contextkeep.cli._base import Session, command
from contextkeep.cli._output import Output

_FOR = (
    click.option("--for-app", "for_app", default="", help="Contexts of this app, such as shop."),
    click.option("--for-agent", "for_agent", default="", help="Contexts with messages of this agent, such as billing."),
)
_SETTING = ("app_id", "agent_id", "models", "is_findable", "learning", "updated_at", "updated_by")


@click.group(epilog="\b\nExample:\n  contextkeep context setting put --for-app shop --models off")
def setting() -> None:
    """Settings for the contexts of the tenant, an app or an agent."""


@command(
    *_FOR,
    click.option(
        "--models",
        type=click.Choice(["on", "off"]),
        help="Whether text of these contexts may be sent to the service's language model.  [default: not set]",
    ),
    click.option(
        "--findable/--not-findable",
        "is_findable",
        default=None,
        help="Whether `context find` finds these contexts.  [default: not set]",
    ),
    click.option(
        "--learning",
        type=click.Choice(["off", "rules", "model"]),
        help="How memories are learned from these contexts: not at all, by patterns, or by the language model."
        "  [default: not set]",
    ),
    name="put",
    group=setting,
    example="""
contextkeep context setting put --models off
contextkeep context setting put --for-app payroll --models off --not-findable
""",
)
def put(
    session: Session,
    output: Output,
    *,
    for_app: str,
    for_agent: str,
    models: Literal["on", "off"] | None,
    is_findable: bool | None,
    learning: Literal["off", "rules", "model"] | None,
) -> None:
    """Set whether models and searches may read contexts; needs admin.

    Use it to keep the text of some contexts away from the language model that the operator has configured (LLM_URL), or
    out of searches over several contexts. The new setting replaces the old one as a whole.

    Without --for-app and --for-agent the setting is for the whole tenant. A context's text is kept from the model if
    one setting is "off": that of the tenant, the app, an agent that writes in the context, or the context itself.
    No memories are learned from a context if one setting for --learning is "off".
    The context's own setting decides whether searches find it, else that of its agents, of its app, or of the tenant.
    """
    output.one(
        session.context.context_settings.put(
            app_id=for_app, agent_id=for_agent, models=models, is_findable=is_findable, learning=learning
        ),
        *_SETTING,
    )


@command(*_FOR, name="get", group=setting, example="contextkeep context setting get --for-app shop")
def get(session: Session, output: Output, *, for_app: str, for_agent: str) -> None:
    """Print the settings of the tenant, and those of an app and an agent.

    Use it to check whether the text of contexts may be sent to the service's language model, whether searches find
    them, and how memories are learned from them.
    """
    output.one(session.context.context_settings.get(app_id=for_app, agent_id=for_agent))
