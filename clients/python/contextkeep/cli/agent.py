"""`contextkeep agent`: agents that can be asked for, and templates of them."""

from __future__ import annotations

from typing import Any

import click

from contextkeep.cli._base import Session, command, limit_option, subject_option
from contextkeep.cli._output import Output
from contextkeep.values import AgentCallers, ProviderNames

_AGENT = ("agent_id", "display_name", "template_id", "node_ids", "version", "updated_at")
_TEMPLATE = ("template_id", "display_name", "node_ids", "version", "updated_at")
_NOBODY = click.option("--nobody-else", is_flag=True, help="Only administrators and the agent itself may name it.")


def _said(function: Any) -> Any:
    """Give a command the options that agents and templates have in common."""
    for option in reversed(
        (
            click.option("--name", "display_name", default="", help="What it is called."),
            click.option("--below", "node_ids", multiple=True, help="Its files are below this node; may be repeated."),
            click.option("--base", "knowledge_bases", multiple=True, help="A knowledge base; may be repeated."),
            click.option("--allow", "allowed_ids", multiple=True, help="It may ask this source; may be repeated."),
            click.option("--allow-family", "allowed_families", multiple=True, help="It may ask this family."),
            click.option("--default", "default_ids", multiple=True, help="This source is asked by default."),
        )
    ):
        function = option(function)
    return function


def _policy(given: dict[str, Any]) -> dict[str, Any]:
    """Return the options with sources as policies name them; what nothing is said of is not said."""
    allowed = ProviderNames(ids=given.pop("allowed_ids"), families=given.pop("allowed_families"))
    defaults = ProviderNames(ids=given.pop("default_ids"))
    return {
        **given,
        "allowed": allowed if allowed.ids or allowed.families else None,
        "defaults": defaults if defaults.ids else None,
    }


@click.group(epilog="\b\nExample:\n  contextkeep agent put reviewer --allow workspace")
def agent() -> None:
    """Agents: where their files are, and whom they may ask."""


@command(
    click.argument("agent_id"),
    click.option("--template", "template_id", default="", help="Says what the agent does not say."),
    _said,
    click.option("--for-user", "user_ids", multiple=True, help="This user may name it; may be repeated."),
    click.option("--for-agent", "agent_ids", multiple=True, help="Keys of this agent may name it."),
    click.option("--for-subject", "subjects", multiple=True, help="This key's or token's subject may name it."),
    _NOBODY,
    name="put",
    group=agent,
    example="""
contextkeep agent put reviewer --below 0197f1f2-0000-7000-8000-000000000001 --allow workspace --allow-family context
contextkeep agent put drafter --for-user ada
""",
)
def put(
    session: Session,
    output: Output,
    *,
    agent_id: str,
    user_ids: tuple[str, ...],
    agent_ids: tuple[str, ...],
    subjects: tuple[str, ...],
    nobody_else: bool,
    **given: Any,
) -> None:
    """Write an agent as it is said; needs admin."""
    callers = None
    if nobody_else or user_ids or agent_ids or subjects:
        callers = AgentCallers(user_ids=user_ids, agent_ids=agent_ids, subjects=subjects)
    output.one(session.context.agents.put(agent_id, callers=callers, **_policy(given)))


@command(click.argument("agent_id"), subject_option, name="get", group=agent, example="contextkeep agent get my_agent")
def get(session: Session, output: Output, *, agent_id: str, **given: Any) -> None:
    """Print an agent."""
    output.one(session.context.agents.get(agent_id, **given))


@command(
    click.option("--template", "template_id", default="", help="Only those of this template."),
    subject_option,
    limit_option(),
    name="list",
    group=agent,
    example="contextkeep agent list",
)
def list_agents(session: Session, output: Output, *, limit: int, **given: Any) -> None:
    """List the agents that you may name."""
    output.many(session.context.agents.list(**given), *_AGENT, limit=limit)


@command(click.argument("agent_id"), name="delete", group=agent, example="contextkeep agent delete old_agent")
def delete(session: Session, output: Output, *, agent_id: str) -> None:
    """Remove an agent; needs admin."""
    session.context.agents.delete(agent_id)
    output.one({"agent_id": agent_id, "is_deleted": True})


@click.group(epilog="\b\nExample:\n  contextkeep agent template put reviewers --allow workspace")
def template() -> None:
    """Templates: what many agents have in common."""


@command(
    click.argument("template_id"),
    _said,
    name="put",
    group=template,
    example="contextkeep agent template put reviewers --allow workspace",
)
def put_template(session: Session, output: Output, *, template_id: str, **given: Any) -> None:
    """Write a template as it is said; needs admin."""
    output.one(session.context.agent_templates.put(template_id, **_policy(given)))


@command(
    click.argument("template_id"), name="get", group=template, example="contextkeep agent template get my_template"
)
def get_template(session: Session, output: Output, *, template_id: str) -> None:
    """Print a template."""
    output.one(session.context.agent_templates.get(template_id))


@command(limit_option(), name="list", group=template, example="contextkeep agent template list")
def list_templates(session: Session, output: Output, *, limit: int) -> None:
    """List the templates."""
    output.many(session.context.agent_templates.list(), *_TEMPLATE, limit=limit)


@command(
    click.argument("template_id"),
    name="delete",
    group=template,
    example="contextkeep agent template delete old_template",
)
def delete_template(session: Session, output: Output, *, template_id: str) -> None:
    """Remove a template that no agent has; needs admin."""
    session.context.agent_templates.delete(template_id)
    output.one({"template_id": template_id, "is_deleted": True})


agent.add_command(template)
