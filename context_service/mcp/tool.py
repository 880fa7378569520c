"""One tool: what it is called, what it takes, what it may do, and what does it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from context_service.graph import EntityGraph
from context_service.mcp.answers import Document
from context_service.servicers.chat_history import ChatHistoryServicer
from context_service.servicers.context_windows import ContextWindowsServicer
from context_service.servicers.contexts import ContextsServicer
from context_service.servicers.working_memory import WorkingMemoryServicer
from contextkeep.errors import FieldViolation, InvalidArgument
from service_runtime.methods import Method, method_of

ARGUMENTS = "arguments_json"
_VIOLATIONS_MAX = 20
_QUERY_FORM = '{"select": ["name", "metadata.topic"], "where": {"memory_type": "data/json"}, "limit": 10}'

EntityId = Annotated[str, Field(description="Id of an entity node. Left out: the current entity.")]
PageToken = Annotated[str, Field(description="`next_page_token` of the page before. Left out: the first page.")]
PageSize = Annotated[int, Field(ge=1, le=200, description="Rows of a page; fewer come if they are large.")]
Archived = Annotated[bool, Field(description="Archived records, too.")]
Where = Annotated[
    dict[str, Any],
    Field(
        description='A condition tree over fields and "metadata.*" paths, such as {"memory_type": "file", '
        '"size_bytes": {"$gt": 10}}. Operators: $eq $ne $gt $gte $lt $lte $in $nin $like $ilike $exists $and $or $not.'
    ),
]


class Arguments(BaseModel):
    """What a tool takes."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What tools call, and within which bounds."""

    memory: WorkingMemoryServicer
    history: ChatHistoryServicer
    contexts: ContextsServicer
    windows: ContextWindowsServicer
    graph: EntityGraph
    answer_bytes_max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One call of a tool."""

    services: Services
    current_entity: str  # empty: there is none
    subject_user_id: str  # for whom, of what belongs to users; empty: for the key's user, or nobody

    def entity(self, named: str) -> str:
        """Return the entity that the call is about.

        Raises:
            InvalidArgument: neither the arguments nor the caller's surroundings name one.
        """
        entity = named or self.current_entity
        if not entity:
            raise InvalidArgument(
                "entity_node_id is required: there is no current entity", field=f"{ARGUMENTS}.entity_node_id"
            )
        return entity


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A row of the table."""

    name: str
    context_type: str  # "WM", "History", "Context" or "RAG"
    rpc: str  # the path of the RPC that it comes down to
    description: str
    arguments: type[Arguments]
    run: Callable[[Use, Any], Awaitable[Document]]
    scope: str = "read"
    destructive: bool = False
    idempotent: bool = True

    @cached_property
    def method(self) -> Method:
        """Return the RPC that it comes down to: the tool waits for a turn, and takes keys of contexts, as that does."""
        return method_of(self.rpc)

    @cached_property
    def input_schema_json(self) -> str:
        """Return the JSON schema of the arguments."""
        schema = self.arguments.model_json_schema()
        schema.pop("description", None)
        schema.pop("title", None)
        for argument in schema["properties"].values():
            argument.pop("title", None)
        return orjson.dumps(schema).decode()

    def parse(self, arguments: dict[str, Any]) -> Arguments:
        """Return the arguments, checked against the schema.

        Raises:
            InvalidArgument: they are not what it says.
        """
        if "sql" in arguments:
            raise InvalidArgument(
                f"no tool takes SQL; ask the tool wm_query, with arguments such as {_QUERY_FORM}",
                field=f"{ARGUMENTS}.sql",
            )
        try:
            return self.arguments.model_validate(arguments)
        except ValidationError as error:
            violations = [
                FieldViolation(".".join((ARGUMENTS, *map(str, one["loc"]))), one["msg"])
                for one in error.errors(include_url=False, include_context=False, include_input=False)[:_VIOLATIONS_MAX]
            ]
            said = "; ".join(f"{one.field.removeprefix(ARGUMENTS + '.')}: {one.description}" for one in violations)
            raise InvalidArgument(f"these are not arguments of {self.name}: {said}", violations=violations) from None
