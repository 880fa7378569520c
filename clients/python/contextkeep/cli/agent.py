"""`contextkeep agent`: agents, and their templates."""

from __future__ import annotations

from typing import Any

import click

from contextkeep.cli._base import Session, command, limit_option, subject_option
from contextkeep.cli._output import Output
from contextkeep.values import AgentCallers, ProviderNames

_AGENT = ("agent_id", "display_name", "template_id", "node_ids", "version", "updated_at")
_TEMPLATE = ("template_id", "display_name", "node_ids", "version", "updated_at")
_NOBODY = click.option("--nobody-else", is_flag=True, help="Allow only administrators and the agent itself to use it.")


def _common_options(function: Any) -> Any:
    """Give a command the options that agents and templates have in common."""
    for option in reversed(
        (
            click.option("--name", "display_name", default="", help="Name for people."),
            click.option(
                "--below",
                "node_ids",
                multiple=True,
                help="Node (its UUID) whose files are searched, with those of the nodes below it; may be repeated.",
            ),
            click.option(
                "--base",
                "knowledge_bases",
                multiple=True,
                help="Knowledge base to search, such as handbook; may be repeated.",
            ),
            click.option(
                "--allow",
                "allowed_ids",
                multiple=True,
                help="Source that the agent may search, such as workspace; may be repeated.  [default: no restriction]",
            ),
            click.option(
                "--allow-family",
                "allowed_families",
                multiple=True,
                help="Allow all sources of this family, such as mcp; may be repeated.",
            ),
            click.option(
                "--default",
                "default_ids",
                multiple=True,
                help="Source to search if a query names none, such as memory; may be repeated.",
            ),
        )
    ):
        function = option(function)
    return function


def _policy(values: dict[str, Any]) -> dict[str, Any]:
    """Return the options with sources named as in policies, without empty options."""
    allowed = ProviderNames(ids=values.pop("allowed_ids"), families=values.pop("allowed_families"))
    defaults = ProviderNames(ids=values.pop("default_ids"))
    return {
        **values,
        "allowed": allowed if allowed.ids or allowed.families else None,
        "defaults": defaults if defaults.ids else None,
    }


@click.group(epilog="\b\nExample:\n  contextkeep agent put reviewer --allow workspace")
def agent() -> None:
    """Agents: which files and sources each may search."""


@command(
    click.argument("agent_id"),
    click.option(
        "--template", "template_id", default="", help="Template: settings that several agents share, such as reviewers."
    ),
    _common_options,
    click.option(
        "--for-user",
        "user_ids",
        multiple=True,
        help="User who may use the agent, such as ada; may be repeated.",
    ),
    click.option(
        "--for-agent", "agent_ids", multiple=True, help="Agent that may use it, such as drafter; may be repeated."
    ),
    click.option(
        "--for-subject",
        "subjects",
        multiple=True,
        help="Subject (the name in a key) that may use it, such as ci; may be repeated.",
    ),
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
    """Create or replace an agent; needs admin.

    Use it to say which files, knowledge bases and sources an agent searches.

    A source is something that `contextkeep query` can search; `contextkeep sources list` lists them with their
    families. An option that you leave out is taken from the template, and is empty if there is none.

    Without any of --for-user, --for-agent and --for-subject every user and subject may use the agent, and no
    other agent may.
    """
    callers = None
    if nobody_else or user_ids or agent_ids or subjects:
        callers = AgentCallers(user_ids=user_ids, agent_ids=agent_ids, subjects=subjects)
    output.one(session.context.agents.put(agent_id, callers=callers, **_policy(given)))


@command(click.argument("agent_id"), subject_option, name="get", group=agent, example="contextkeep agent get my_agent")
def get(session: Session, output: Output, *, agent_id: str, **options: Any) -> None:
    """Print an agent: its files, sources and callers.

    Use it to check which sources an agent may search. Only administrators see its callers.
    """
    output.one(session.context.agents.get(agent_id, **options))


@command(
    click.option("--template", "template_id", default="", help="List only agents of this template, such as reviewers."),
    subject_option,
    limit_option(),
    name="list",
    group=agent,
    example="contextkeep agent list",
)
def list_agents(session: Session, output: Output, *, limit: int, **options: Any) -> None:
    """List the agents that your key may use.

    Use it to find an agent's id for `contextkeep query --agent`.
    """
    output.many(session.context.agents.list(**options), *_AGENT, limit=limit)


@command(click.argument("agent_id"), name="delete", group=agent, example="contextkeep agent delete old_agent")
def delete(session: Session, output: Output, *, agent_id: str) -> None:
    """Delete an agent; needs admin.

    Use it when no key and no query names the agent any more. Its files stay.
    """
    session.context.agents.delete(agent_id)
    output.one({"agent_id": agent_id, "is_deleted": True})


@click.group(epilog="\b\nExample:\n  contextkeep agent template put reviewers --allow workspace")
def template() -> None:
    """Templates: settings that several agents share."""


@command(
    click.argument("template_id"),
    _common_options,
    name="put",
    group=template,
    example="contextkeep agent template put reviewers --allow workspace",
)
def put_template(session: Session, output: Output, *, template_id: str, **options: Any) -> None:
    """Create or replace a template for agents; needs admin.

    Use it when several agents search the same files and sources. `contextkeep agent put --template` names it.
    """
    output.one(session.context.agent_templates.put(template_id, **_policy(options)))


@command(
    click.argument("template_id"), name="get", group=template, example="contextkeep agent template get my_template"
)
def get_template(session: Session, output: Output, *, template_id: str) -> None:
    """Print a template: settings that several agents share.

    Use it to see what an agent with this template inherits.
    """
    output.one(session.context.agent_templates.get(template_id))


@command(limit_option(), name="list", group=template, example="contextkeep agent template list")
def list_templates(session: Session, output: Output, *, limit: int) -> None:
    """List the templates of agents.

    Use it to find a template's id for `contextkeep agent put --template`.
    """
    output.many(session.context.agent_templates.list(), *_TEMPLATE, limit=limit)


@command(
    click.argument("template_id"),
    name="delete",
    group=template,
    example="contextkeep agent template delete old_template",
)
def delete_template(session: Session, output: Output, *, template_id: str) -> None:
    """Delete a template of agents; needs admin.

    Use it when no agent has the template any more; otherwise the command fails.
    """
    session.context.agent_templates.delete(template_id)
    output.one({"template_id": template_id, "is_deleted": True})


agent.add_command(template)
