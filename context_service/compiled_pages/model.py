"""Pages that were compiled, and facets that were put: what is kept, and what may be put. Values and rules only."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID, uuid5

from context_service.compiled_pages.pure.definition import TRUST, FacetKind, check_heading, check_slug
from context_service.compiled_pages.rules.page import FACET_BYTES_MAX, CompiledPage, FacetNode, Problem
from contextkeep.errors import InvalidArgument
from service_runtime.auth import Principal
from service_runtime.checks import check_between, check_long_text, check_text

PUT_MAX = 32  # facets that are put on a page
LABEL_CHARS_MAX, URI_CHARS_MAX = 500, 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """Who compiles: keys with the same bounds."""

    id: UUID
    is_unbound: bool

    @classmethod
    def of(cls, principal: Principal) -> Audience:
        """Return the audience of a principal."""
        return cls(id=uuid5(principal.tenant_id, f"audience {principal.bounds}"), is_unbound=not principal.bounds)

    def page_id(self, definition_name: str, node_id: str) -> UUID:
        """Return the id of a page: there is one for each definition, node and audience."""
        return uuid5(self.id, json.dumps([definition_name, node_id]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """What a compile found of a node.

    Attributes:
        page: None: there is none, or it is not known.
        trouble: Why it is not known; empty: it is.
    """

    definition_name: str
    definition_version: int
    app_id: str
    node_id: str
    page: CompiledPage | None
    trouble: str = ""


@dataclass(slots=True, kw_only=True)
class Counts:
    """What a compile did so far."""

    compile_id: UUID
    nodes_read: int = 0
    changes_read: int = 0
    written: int = 0
    unchanged: int = 0
    removed: int = 0
    failed: int = 0
    definition_name: str = ""  # that is compiled of all nodes now
    problems: Sequence[Problem] = ()  # since it was told the last time
    is_done: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSource:
    """What a facet is from that was put."""

    label: str = ""
    uri: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetInput:
    """A facet that somebody puts; without a text it goes."""

    slug: str
    heading: str
    kind: FacetKind | None
    text: str
    confidence: float
    as_of: datetime | None
    fresh_until: datetime | None
    source: NamedSource

    def check(self) -> None:
        """Refuse what is no facet.

        Raises:
            InvalidArgument, LimitExceeded: the field is named.
        """
        check_slug("facet.slug", self.slug)
        if not self.text:
            return
        check_heading("facet.heading", self.heading)
        if self.kind is None:
            raise InvalidArgument("facet.kind is required", field="facet.kind")
        check_long_text("facet.text", self.text, size_bytes_max=FACET_BYTES_MAX)
        if not self.text.strip():
            raise InvalidArgument("facet.text is blank", field="facet.text")
        check_between("facet.confidence", self.confidence, 0, 1)
        check_text("facet.source_label", self.source.label, chars_max=LABEL_CHARS_MAX)
        check_text("facet.source_uri", self.source.uri, chars_max=URI_CHARS_MAX)
        if not (self.source.label or self.source.uri):
            raise InvalidArgument("facet.source_label or source_uri is required", field="facet.source_label")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptFacet:
    """A facet of a page, as the caller may see it."""

    slug: str
    heading: str
    kind: FacetKind
    text: str
    is_cut: bool
    confidence: float
    as_of: datetime
    fresh_until: datetime | None
    stale: Sequence[str]  # why it is out of date
    sources: Sequence[FacetNode | NamedSource]
    bundles: Sequence[str]
    is_declassified: bool
    definition_version: int
    compile_id: UUID | None  # None: somebody put it
    put_by: str
    written_at: datetime

    @property
    def trust(self) -> int:
        """How far it is trusted."""
        return TRUST[self.kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPage:
    """A page, as the caller may see it."""

    page_id: UUID
    definition_name: str
    definition_version: int
    node_id: UUID
    node_type: str
    title: str
    aliases: Sequence[str]
    stale: Sequence[str]  # why it is out of date
    graph_name: str
    agent_bundle_id: str
    app_id: str
    compile_id: UUID
    compiled_at: datetime
    created_at: datetime
    facets: Sequence[KeptFacet] = field(default_factory=tuple)  # none in lists
