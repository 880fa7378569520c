"""Values of contextkeep/context/v1/definitions.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from contextkeep._gen.values_compiled_pages import CompiledPage, RuleProblem
from contextkeep._gen.values_message import Imported
from contextkeep.context.v1 import definitions_pb2 as pb
from contextkeep.values.base import Value, kept, time_of
from contextkeep.values.conversions import definition_rules_json

DefinitionState = Literal[
    "draft",
    "approved",
    "retired",
]
DEFINITION_STATES: dict[int, DefinitionState] = {
    1: "draft",
    2: "approved",
    3: "retired",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Definition(Value):
    """A version of a definition."""

    name: str = ""
    # From 1.
    version: int = 0
    state: DefinitionState | Literal[""] = ""
    rules_json: str = "{}"
    created_by: str = ""
    created_at: datetime
    # The subject of the credential that last approved it. Empty: it was never approved.
    approved_by: str = ""
    approved_at: datetime | None = None
    # Absent unless the version is retired.
    retired_at: datetime | None = None
    # Where an import took it from. Unset: no import wrote it.
    imported: Imported | None = None
    _rules: Any = kept()

    @property
    def rules(self) -> dict[str, Any]:
        """Return `rules_json`, parsed."""
        return self._kept_object("_rules", self.rules_json)

    @classmethod
    def from_proto(cls, message: pb.Definition) -> Definition:
        """Return the value of a message."""
        return cls(
            name=message.name,
            version=message.version,
            state=DEFINITION_STATES.get(message.state, ""),
            rules_json=definition_rules_json(message.rules),
            created_by=message.created_by,
            created_at=time_of(message.created_at),
            approved_by=message.approved_by,
            approved_at=time_of(message.approved_at) if message.HasField("approved_at") else None,
            retired_at=time_of(message.retired_at) if message.HasField("retired_at") else None,
            imported=Imported.from_proto(message.imported) if message.HasField("imported") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TriedDefinition(Value):
    """The page that the rules make of a node."""

    # Absent: the node has no page by these rules, because of its type, its graph, `when` or its title, or because it is
    # archived.
    page: CompiledPage | None = None
    # The first 20 problems.
    problems: tuple[RuleProblem, ...] = ()
    # Number of further problems.
    problems_left_out: int = 0

    @classmethod
    def from_proto(cls, message: pb.TestDefinitionResponse) -> TriedDefinition:
        """Return the value of a message."""
        return cls(
            page=CompiledPage.from_proto(message.page) if message.HasField("page") else None,
            problems=tuple(map(RuleProblem.from_proto, message.problems)),
            problems_left_out=message.problems_left_out,
        )
