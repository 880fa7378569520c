"""Definitions of pages, and the pages that are compiled by them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from google.protobuf.json_format import MessageToDict

from contextkeep.context.v1 import definitions_pb2 as pb
from contextkeep.values.base import Value, kept, time_of


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Definition(Value):
    """A version of a definition."""

    name: str
    version: int
    state: str  # "draft", "approved" or "retired"
    rules_json: str = "{}"
    created_by: str = ""
    created_at: datetime | None = None
    approved_by: str = ""  # empty: it never was
    approved_at: datetime | None = None
    retired_at: datetime | None = None
    _rules: Any = kept()

    @property
    def rules(self) -> dict[str, Any]:
        """Return the rules as a dict, as `put_definition` takes them."""
        return self._kept_object("_rules", self.rules_json)

    @classmethod
    def from_proto(cls, definition: pb.Definition) -> Definition:
        """Return the value of a message."""
        rules = MessageToDict(definition.rules, preserving_proto_field_name=True)
        for facet in rules.get("facets", ()):
            facet["kind"] = facet["kind"].removeprefix("FACET_KIND_").lower()
        return cls(
            name=definition.name,
            version=definition.version,
            state=pb.DefinitionState.Name(definition.state).removeprefix("DEFINITION_STATE_").lower(),
            rules_json=json.dumps(rules, ensure_ascii=False),
            created_by=definition.created_by,
            created_at=time_of(definition.created_at),
            approved_by=definition.approved_by,
            approved_at=_time(definition, "approved_at"),
            retired_at=_time(definition, "retired_at"),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FacetSource(Value):
    """What a facet is from: a node and the edge by which it was reached, or something else that has a name."""

    node_id: str = ""
    node_version: int = 0
    edge_id: str = ""  # empty: the page's own node
    edge_version: int = 0
    label: str = ""
    uri: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Facet(Value):
    """A part of a page."""

    slug: str
    heading: str
    kind: str  # "operational", "relationship", "compiled", "activity", "kb" or "external"
    text: str
    trust: int = 0  # 5 the most
    is_cut: bool = False
    confidence: float = 0.0
    as_of: datetime | None = None
    fresh_until: datetime | None = None  # None: until its nodes change
    stale: Sequence[str] = ()  # why it is out of date
    sources: Sequence[FacetSource] = ()
    agent_bundle_ids: Sequence[str] = ()  # of all that was read
    is_declassified: bool = False
    definition_version: int = 0
    compile_id: str = ""  # empty: somebody put it
    put_by: str = ""
    written_at: datetime | None = None

    @classmethod
    def from_proto(cls, facet: pb.Facet) -> Facet:
        """Return the value of a message."""
        return cls(
            slug=facet.slug,
            heading=facet.heading,
            kind=pb.FacetKind.Name(facet.kind).removeprefix("FACET_KIND_").lower(),
            text=facet.text,
            trust=facet.trust,
            is_cut=facet.is_cut,
            confidence=facet.confidence,
            as_of=_time(facet, "as_of"),
            fresh_until=_time(facet, "fresh_until"),
            stale=tuple(facet.stale),
            sources=tuple(
                FacetSource(
                    node_id=one.node_id,
                    node_version=one.node_version,
                    edge_id=one.edge_id,
                    edge_version=one.edge_version,
                    label=one.label,
                    uri=one.uri,
                )
                for one in facet.sources
            ),
            agent_bundle_ids=tuple(facet.agent_bundle_ids),
            is_declassified=facet.is_declassified,
            definition_version=facet.definition_version,
            compile_id=facet.compile_id,
            put_by=facet.put_by,
            written_at=_time(facet, "written_at"),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CompiledPage(Value):
    """A page that was compiled of a node."""

    node_id: str
    node_type: str
    title: str
    aliases: Sequence[str] = ()
    facets: Sequence[Facet] = ()  # none in lists
    stale: Sequence[str] = ()  # why it is out of date
    page_id: str = ""  # empty: it is kept nowhere
    definition_name: str = ""
    definition_version: int = 0
    graph_name: str = ""
    agent_bundle_id: str = ""
    app_id: str = ""
    compile_id: str = ""
    compiled_at: datetime | None = None
    created_at: datetime | None = None

    @classmethod
    def from_proto(cls, page: pb.CompiledPage) -> CompiledPage:
        """Return the value of a message."""
        return cls(
            node_id=page.node_id,
            node_type=page.node_type,
            title=page.title,
            aliases=tuple(page.aliases),
            facets=tuple(map(Facet.from_proto, page.facets)),
            stale=tuple(page.stale),
            page_id=page.page_id,
            definition_name=page.definition_name,
            definition_version=page.definition_version,
            graph_name=page.graph_name,
            agent_bundle_id=page.agent_bundle_id,
            app_id=page.app_id,
            compile_id=page.compile_id,
            compiled_at=_time(page, "compiled_at"),
            created_at=_time(page, "created_at"),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RuleProblem(Value):
    """A rule that failed on a node, or a walk that came too far."""

    rule: str  # "definition.facets[0].text"
    node_id: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TriedDefinition(Value):
    """What rules make of a node."""

    page: CompiledPage | None  # None: the node would have none
    problems: Sequence[RuleProblem] = ()
    problems_left_out: int = 0

    @classmethod
    def from_proto(cls, tried: pb.TestDefinitionResponse) -> TriedDefinition:
        """Return the value of a message."""
        return cls(
            page=CompiledPage.from_proto(tried.page) if tried.HasField("page") else None,
            problems=tuple(RuleProblem(rule=one.rule, node_id=one.node_id, error=one.error) for one in tried.problems),
            problems_left_out=tried.problems_left_out,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CompileProgress(Value):
    """How far a compile is; what it counts is stored."""

    compile_id: str
    nodes_read: int = 0
    changes_read: int = 0
    pages_written: int = 0
    pages_unchanged: int = 0
    pages_removed: int = 0
    pages_failed: int = 0
    definition_name: str = ""  # that is compiled now; empty: what changed
    problems: Sequence[RuleProblem] = ()  # since the last one
    is_done: bool = False

    @classmethod
    def from_proto(cls, progress: pb.CompilePagesResponse) -> CompileProgress:
        """Return the value of a message."""
        return cls(
            compile_id=progress.compile_id,
            nodes_read=progress.nodes_read,
            changes_read=progress.changes_read,
            pages_written=progress.pages_written,
            pages_unchanged=progress.pages_unchanged,
            pages_removed=progress.pages_removed,
            pages_failed=progress.pages_failed,
            definition_name=progress.definition_name,
            problems=tuple(
                RuleProblem(rule=one.rule, node_id=one.node_id, error=one.error) for one in progress.problems
            ),
            is_done=progress.is_done,
        )


def _time(message: Any, name: str) -> datetime | None:
    return time_of(getattr(message, name)) if message.HasField(name) else None
