"""Values of contextkeep/context/v1/compiled_pages.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from contextkeep.context.v1 import compiled_pages_pb2 as pb
from contextkeep.values.base import Value, time_of

# The kind of a facet. It determines the trust, from 1 to 5 (the most trusted), which decides if texts are equal.
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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FacetSource(Value):
    """The source of a facet: a node and the edge by which the walk reached it, or a named source of an added facet."""

    node_id: str = ""
    node_version: int = 0
    # Empty: the node is the page's own.
    edge_id: str = ""
    edge_version: int = 0
    # Only for an added facet; up to 500 characters.
    label: str = ""
    # Only for an added facet; up to 2,000 characters.
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
    # The lines, that of the oldest node first.
    text: str = ""
    # The text is longer than 64 KiB; the rest is left out.
    is_cut: bool = False
    confidence: float = 0.0
    as_of: datetime
    # When the facet becomes out of date. Absent: when its nodes change.
    fresh_until: datetime | None = None
    # Why the facet is out of date. Empty: the service knows of no reason.
    stale: tuple[str, ...] = ()
    # The nodes that have a line in it. For an added facet: the source that its writer named.
    sources: tuple[FacetSource, ...] = ()
    # The agent bundles of all nodes that were read for it; all these nodes are in the page's graph. A key that is bound
    # to a bundle sees the facet only if all of them are this bundle, unless the facet is declassified.
    agent_bundle_ids: tuple[str, ...] = ()
    # Every caller that may see the page's own node sees the facet.
    is_declassified: bool = False
    # The version of the definition that compiled it. 0: it was added by PutFacet.
    definition_version: int = 0
    # The compile that wrote it. Empty: it was added by PutFacet.
    compile_id: str = ""
    # The subject of the credential that added it. Empty: it was compiled.
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
            as_of=time_of(message.as_of),
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
    """A page compiled from a node."""

    # Empty: the page is not stored.
    page_id: str = ""
    definition_name: str = ""
    definition_version: int = 0
    # The page's own node.
    node_id: str = ""
    # The specific type name of the node.
    node_type: str = ""
    title: str = ""
    aliases: tuple[str, ...] = ()
    # The facets that the caller may see; empty in lists. First those of the definition in its order, then the added
    # ones by slug.
    facets: tuple[Facet, ...] = ()
    # Why the page is out of date. Empty: the service knows of no reason.
    stale: tuple[str, ...] = ()
    # The graph of its node. Keys that are bound to other graphs do not see the page.
    graph_name: str = ""
    # The agent bundle of its node. Keys that are bound to another bundle do not see the page.
    agent_bundle_id: str = ""
    # The app of its definition. Keys that are bound to other apps do not see the page.
    app_id: str = ""
    # The compile that last read the node.
    compile_id: str = ""
    # When that compile read the node.
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
    """An expression that failed on a node, or a walk that exceeded a limit."""

    # The path of the rule, such as "definition.facets[0].text".
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
class CompileProgress(Value):
    """The progress of a compile. Everything that it counts is stored."""

    compile_id: str = ""
    # Nodes read so far.
    nodes_read: int = 0
    # Changes of the graph read so far.
    changes_read: int = 0
    # New and changed pages so far.
    pages_written: int = 0
    # Unchanged pages so far.
    pages_unchanged: int = 0
    # Deleted pages so far.
    pages_removed: int = 0
    # Pages on which a rule failed, so far.
    pages_failed: int = 0
    # The definition that is compiled now. Empty: the changes are compiled.
    definition_name: str = ""
    # Problems since the message before: the first 20 of each batch of nodes.
    problems: tuple[RuleProblem, ...] = ()
    # This is the last message.
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
