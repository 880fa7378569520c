"""Context query, recall and working memory as plain functions with JSON schemas, for any framework or none.

    tools = functions(ContextClient(), context_id=context_id, entity_node_id=entity_node_id)
    offered = [{"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in tools]
    answer = {tool.name: tool for tool in tools}[call.name](**call.arguments)

They need no extra. What a caller binds (the entity, the context, the user) no model can choose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypedDict, Unpack
from uuid import UUID

from contextkeep.adapters._steps import Steps, done, done_async
from contextkeep.client.aio.context import AsyncContextClient
from contextkeep.client.sync.context import ContextClient
from contextkeep.errors import (
    Aborted,
    AlreadyExists,
    ContextKeepError,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    OutOfRange,
    PermissionDenied,
    ResourceExhausted,
)
from contextkeep.values import QueriedContext, Tool

# The tools of the service that are offered. Those of the second line are offered only if a context is bound.
_OF_MEMORY = ("wm_list", "wm_search", "wm_read", "wm_upload", "wm_archive")
_OF_CONTEXT = ("context_recall", "context_search", "context_read", "context_send")
_BOUND = ("entity_node_id", "context_id")  # arguments that a caller may bind
# Errors that a model gets as an answer, since it can correct its call or must know them. Others are raised.
_TOLD = (
    *(InvalidArgument, NotFound, AlreadyExists, FailedPrecondition, OutOfRange, ResourceExhausted),
    *(PermissionDenied, Aborted),
)

# The query functions, each with the family of sources that it searches and its description. An empty family searches
# all default sources.
_QUERIES = {
    "query_context": (
        "",
        "Asks every source one question (memories, pages, documents, files, tools) and returns cited hits, and how "
        "each source fared.",
    ),
    "query_memory_context": (
        "memory",
        "Searches the memories about the user: facts, preferences, lessons of earlier runs. Questions about the "
        "business go to query_brain_context first.",
    ),
    "query_wiki_context": (
        "wiki",
        "Asks the pages that were compiled for the user. Questions about the business go to query_brain_context first.",
    ),
    "query_brain_context": (
        "brain",
        "Searches knowledge about the business: its customers, contracts, commitments and people. Ask it first "
        "about any of these; ask the others for what it does not answer.",
    ),
}
_QUERY_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 1, "description": "The question, in plain words."},
        "mode": {
            "type": "string",
            "enum": ["results", "answer"],
            "default": "results",
            "description": "answer: also quotations of the best hits.",
        },
        "scope": {
            "type": "string",
            "enum": ["auto", "personal", "team"],
            "default": "auto",
            "description": "Data of the user (personal), data without an owner (team), or both (auto).",
        },
        "depth": {
            "type": "string",
            "enum": ["quick", "deep"],
            "default": "quick",
            "description": "deep: more time, more hits, and a second pass.",
        },
        "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 20, "description": "Hits."},
    },
    "required": ["query"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Described:
    """The fields that functions for the sync and the async client share."""

    name: str
    description: str
    parameters: dict[str, Any]  # the JSON schema of its arguments
    read_only: bool
    _asked: partial[Steps[dict[str, Any]]] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Function(_Described):
    """A function for a model. It returns JSON; a member `error` describes an error that the model can correct."""

    _client: ContextClient = field(repr=False)

    def __call__(self, **arguments: Any) -> dict[str, Any]:
        """Call the function with a model's arguments, and return its answer.

        Raises:
            ContextKeepError: an error that the model cannot correct: the service does not answer, or the key is not
                valid.
        """
        return done(self._client, _answer(self._asked(arguments)))


@dataclass(frozen=True, slots=True, kw_only=True)
class AsyncFunction(_Described):
    """See `Function`."""

    _client: AsyncContextClient = field(repr=False)

    async def __call__(self, **arguments: Any) -> dict[str, Any]:
        """See `Function`."""
        return await done_async(self._client, _answer(self._asked(arguments)))


class Bound(TypedDict, total=False):
    """What a caller binds, and no model chooses."""

    # Node whose working memory is listed, searched and written; default: the model names it
    entity_node_id: str | UUID | None
    context_id: str | UUID | None  # context to recall, search, read and write; default: no functions of contexts
    agent_id: str  # agent whose policy applies to queries
    subject_user_id: str  # the user to call for, with a key that has no user


def functions(client: ContextClient, *, read_only: bool = False, **bound: Unpack[Bound]) -> list[Function]:
    """Return functions for a model: `query_context` and its variants for one family, working memory, and recall.

    Args:
        client: Client of the Context Service; the caller closes it.
        read_only: Leave out functions that write.
        **bound: The fields of `Bound`.
    """
    described = done(client, _descriptions(bound, read_only=read_only))
    return [Function(**item, _client=client) for item in described]


async def functions_async(
    client: AsyncContextClient, *, read_only: bool = False, **bound: Unpack[Bound]
) -> list[AsyncFunction]:
    """See `functions`."""
    described = await done_async(client, _descriptions(bound, read_only=read_only))
    return [AsyncFunction(**item, _client=client) for item in described]


def _descriptions(functions: Bound, *, read_only: bool) -> Steps[list[dict[str, Any]]]:
    """Return the fields of all functions; arguments that the caller binds are removed from their schemas."""
    bound = {name: str(value) for name, value in functions.items() if value is not None}
    result: list[dict[str, Any]] = [
        {
            "name": name,
            "description": description,
            "parameters": _QUERY_PARAMETERS,
            "read_only": True,
            "_asked": partial(_query, family, bound),
        }
        for name, (family, description) in _QUERIES.items()
    ]
    tools: list[Tool] = yield lambda client: client.tools.list(read_only=read_only)
    user = bound.get("subject_user_id", "")
    names = (*_OF_MEMORY, *_OF_CONTEXT) if "context_id" in bound else _OF_MEMORY
    for tool in sorted((item for item in tools if item.tool_name in names), key=lambda row: names.index(row.tool_name)):
        schema = tool.input_schema
        fixed = [name for name in _BOUND if name in bound and name in schema["properties"]]
        properties = {name: item for name, item in schema["properties"].items() if name not in fixed}
        required = [name for name in schema.get("required", ()) if name not in fixed]
        result.append(
            {
                "name": tool.tool_name,
                "description": tool.description,
                "parameters": schema | {"properties": properties, "required": required},
                "read_only": tool.read_only,
                "_asked": partial(_execute, tool, {name: bound[name] for name in fixed}, user),
            }
        )
    return result


def _query(family: str, bound: Mapping[str, str], arguments: Mapping[str, Any]) -> Steps[dict[str, Any]]:
    """Ask context query with a model's arguments, and return its hits and how each provider answered.

    Args:
        family: Family of the sources to search; empty for all default sources.
        bound: Values that the caller binds, by the names of `Bound`.
        arguments: The model's arguments.

    Raises:
        InvalidArgument: an argument is unknown, missing, or of a wrong type.
    """
    if unknown := sorted(set(arguments) - set(_QUERY_PARAMETERS["properties"])):
        raise InvalidArgument(f"there is no argument {', '.join(unknown)}")
    if not isinstance(arguments.get("query"), str):
        raise InvalidArgument("query must be a text", field="query")
    if isinstance(arguments.get("limit", 0), bool) or not isinstance(arguments.get("limit", 0), int):
        raise InvalidArgument("limit must be a whole number", field="limit")
    result: QueriedContext = yield lambda client: client.query.ask(
        **arguments,
        families=[family] if family else None,
        context_ids=[bound["context_id"]] if "context_id" in bound and not family else (),
        agent_id=bound.get("agent_id", ""),
        subject_user_id=bound.get("subject_user_id", ""),
    )
    answer: dict[str, Any] = {
        "hits": [
            {"ref": hit.ref, "provider": hit.provider_id, "title": hit.title, "snippet": hit.snippet}
            | ({"untrusted": True} if hit.untrusted else {})
            for hit in result.hits
        ],
        "providers": [
            {"id": provider.provider_id, "state": provider.state}
            | ({"reason": provider.reason} if provider.reason else {})
            for provider in result.providers
        ],
    }
    return answer | ({"answer": result.answer_text} if result.answer_text else {})


def _execute(
    tool: Tool, fixed: Mapping[str, str], subject_user_id: str, arguments: Mapping[str, Any]
) -> Steps[dict[str, Any]]:
    """Run a tool of the service, and return its answer. `fixed` are arguments that the model cannot set."""
    answer: dict[str, Any] = yield lambda client: client.tools.execute(
        tool.tool_name, {**arguments, **fixed}, read_only=tool.read_only, subject_user_id=subject_user_id
    )
    return answer


def _answer(steps: Steps[dict[str, Any]]) -> Steps[dict[str, Any]]:
    """Run the steps of a function, and return an error that a model can correct as its answer."""
    try:
        return (yield from steps)
    except _TOLD as error:
        return {"error": _error_fields(error)}
    except (TypeError, ValueError) as error:  # of an argument of another type than its schema says
        return {"error": {"reason": "INVALID_ARGUMENT", "message": str(error)}}


def _error_fields(error: ContextKeepError) -> dict[str, Any]:
    """Return an error as the fields that a model reads, with the arguments that it can correct."""
    values: dict[str, Any] = {"reason": error.reason, "message": error.message}
    if error.violations:
        values["arguments"] = {violation.field: violation.description for violation in error.violations}
    return values
