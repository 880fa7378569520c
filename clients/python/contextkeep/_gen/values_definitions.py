"""Values of contextkeep/context/v1/definitions.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from contextkeep._gen.values_message import Imported
from contextkeep.context.v1 import definitions_pb2 as pb
from contextkeep.values.base import Value, kept, time_of
from contextkeep.values.conversions import definition_rules_json

# What a facet is, and so how far it is trusted where texts are equal: 5 the most.
FacetKind = Literal[
    "operational",
    "relationship",
    "compiled",
    "activity",
    "kb",
    "external",
]
FACET_KINDS: dict[int, FacetKind] = {
    1: "operational",
    2: "relationship",
    3: "compiled",
    4: "activity",
    5: "kb",
    6: "external",
}
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
    created_at: datetime | None = None
    # Who approved it last; empty: nobody did.
    approved_by: str = ""
    approved_at: datetime | None = None
    # Absent unless it is retired.
    retired_at: datetime | None = None
    # Unset: no import wrote it.
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
            created_at=time_of(message.created_at) if message.HasField("created_at") else None,
            approved_by=message.approved_by,
            approved_at=time_of(message.approved_at) if message.HasField("approved_at") else None,
            retired_at=time_of(message.retired_at) if message.HasField("retired_at") else None,
            imported=Imported.from_proto(message.imported) if message.HasField("imported") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FacetSource(Value):
    """What a facet is from: a node and the edge by which the walk came to it, or something else that has a name."""

    node_id: str = ""
    node_version: int = 0
    # Empty: the node is the page's own.
    edge_id: str = ""
    edge_version: int = 0
    # Of a facet that was put: up to 500 and 2,000 characters.
    label: str = ""
    uri: str = ""

    @classmethod
    def from_proto(cls, message: pb.FacetSource) -> FacetSource:
        """Return the value of a message."""
        return cls(
            node_id=message.node_id,
            node_version=message.node_version,
            edge_id=message.edge_id,
            edge_version=message.edge_version,
            label=message.label,
            uri=message.uri,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Facet(Value):
    """A part of a page."""

    slug: str = ""
    heading: str = ""
    kind: FacetKind | Literal[""] = ""
    # From 1 to 5, the most trusted.
    trust: int = 0
    # Lines, the oldest node's first.
    text: str = ""
    # There is more of it than 64 KiB, which is left out.
    is_cut: bool = False
    confidence: float = 0.0
    as_of: datetime | None = None
    # Absent: it is good until its nodes change.
    fresh_until: datetime | None = None
    # As of CompiledPage.
    stale: tuple[str, ...] = ()
    # What it says is from: the nodes that have a line in it; or what was said of one that was put.
    sources: tuple[FacetSource, ...] = ()
    # The agent bundles of all nodes that were read for it, all of which are in the page's graph. A key that is bound to
    # one sees it if all of them are that one, unless it is declassified.
    agent_bundle_ids: tuple[str, ...] = ()
    is_declassified: bool = False
    # Of what was compiled.
    definition_version: int = 0
    # Of the compile that wrote it; empty: it was put.
    compile_id: str = ""
    # Who put it; empty: it was compiled.
    put_by: str = ""
    written_at: datetime | None = None

    @classmethod
    def from_proto(cls, message: pb.Facet) -> Facet:
        """Return the value of a message."""
        return cls(
            slug=message.slug,
            heading=message.heading,
            kind=FACET_KINDS.get(message.kind, ""),
            trust=message.trust,
            text=message.text,
            is_cut=message.is_cut,
            confidence=message.confidence,
            as_of=time_of(message.as_of) if message.HasField("as_of") else None,
            fresh_until=time_of(message.fresh_until) if message.HasField("fresh_until") else None,
            stale=tuple(message.stale),
            sources=tuple(map(FacetSource.from_proto, message.sources)),
            agent_bundle_ids=tuple(message.agent_bundle_ids),
            is_declassified=message.is_declassified,
            definition_version=message.definition_version,
            compile_id=message.compile_id,
            put_by=message.put_by,
            written_at=time_of(message.written_at) if message.HasField("written_at") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CompiledPage(Value):
    """A page that was compiled of a node."""

    # Empty: the page is not stored.
    page_id: str = ""
    definition_name: str = ""
    definition_version: int = 0
    # Its own node, and that node's specific type.
    node_id: str = ""
    node_type: str = ""
    title: str = ""
    aliases: tuple[str, ...] = ()
    # Those that the caller may see; none in lists. First those of the definition in its order, then those that were
    # put, by slug.
    facets: tuple[Facet, ...] = ()
    # Why the page is out of date; empty: it is not, as far as is known.
    stale: tuple[str, ...] = ()
    # The walls of the page: those of its node, and the app of its definition.
    graph_name: str = ""
    agent_bundle_id: str = ""
    app_id: str = ""
    # Of the compile that read its node last, and when it did.
    compile_id: str = ""
    compiled_at: datetime | None = None
    created_at: datetime | None = None

    @classmethod
    def from_proto(cls, message: pb.CompiledPage) -> CompiledPage:
        """Return the value of a message."""
        return cls(
            page_id=message.page_id,
            definition_name=message.definition_name,
            definition_version=message.definition_version,
            node_id=message.node_id,
            node_type=message.node_type,
            title=message.title,
            aliases=tuple(message.aliases),
            facets=tuple(map(Facet.from_proto, message.facets)),
            stale=tuple(message.stale),
            graph_name=message.graph_name,
            agent_bundle_id=message.agent_bundle_id,
            app_id=message.app_id,
            compile_id=message.compile_id,
            compiled_at=time_of(message.compiled_at) if message.HasField("compiled_at") else None,
            created_at=time_of(message.created_at) if message.HasField("created_at") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RuleProblem(Value):
    """A rule that failed on a node, or a walk that came too far."""

    # "definition.facets[0].text".
    rule: str = ""
    node_id: str = ""
    error: str = ""

    @classmethod
    def from_proto(cls, message: pb.RuleProblem) -> RuleProblem:
        """Return the value of a message."""
        return cls(
            rule=message.rule,
            node_id=message.node_id,
            error=message.error,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TriedDefinition(Value):
    """What rules make of a node."""

    # Absent: the node would have none, because of its type, its graph, `when`, its title, or because it is archived.
    page: CompiledPage | None = None
    # The first 20, and how many more there are.
    problems: tuple[RuleProblem, ...] = ()
    problems_left_out: int = 0

    @classmethod
    def from_proto(cls, message: pb.TestDefinitionResponse) -> TriedDefinition:
        """Return the value of a message."""
        return cls(
            page=CompiledPage.from_proto(message.page) if message.HasField("page") else None,
            problems=tuple(map(RuleProblem.from_proto, message.problems)),
            problems_left_out=message.problems_left_out,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CompileProgress(Value):
    """How far a compile is. What it counts is stored."""

    compile_id: str = ""
    # Nodes that were read, and changes of the graph that were listed, so far.
    nodes_read: int = 0
    changes_read: int = 0
    # Pages that are new or another by now, that are as they were, that went, and on which a rule failed, so far.
    pages_written: int = 0
    pages_unchanged: int = 0
    pages_removed: int = 0
    pages_failed: int = 0
    # What is compiled now; empty: what changed.
    definition_name: str = ""
    # Since the message before: the first 20 of each batch of nodes.
    problems: tuple[RuleProblem, ...] = ()
    # The last message.
    is_done: bool = False

    @classmethod
    def from_proto(cls, message: pb.CompilePagesResponse) -> CompileProgress:
        """Return the value of a message."""
        return cls(
            compile_id=message.compile_id,
            nodes_read=message.nodes_read,
            changes_read=message.changes_read,
            pages_written=message.pages_written,
            pages_unchanged=message.pages_unchanged,
            pages_removed=message.pages_removed,
            pages_failed=message.pages_failed,
            definition_name=message.definition_name,
            problems=tuple(map(RuleProblem.from_proto, message.problems)),
            is_done=message.is_done,
        )
