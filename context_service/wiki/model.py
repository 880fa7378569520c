"""Values of wiki pages, and the checks of their fields."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID, uuid5

import orjson

from context_service.retrieval.pure.sections import PagePiece
from contextkeep.errors import InvalidArgument
from service_runtime.values.checks import check_count, check_long_text, check_text

PAGE_BYTES_MAX = 1024 * 1024
PAGES_MAX = 10_000  # the most pages of a user
VERSIONS_MAX = 50  # only the newest versions of a page are kept
# The most bytes of all kept versions of a page together; the newest version stays even if it is larger.
VERSIONS_BYTES_MAX = 16 * 1024 * 1024
SECTIONS_MAX = 2_000
SLUG_CHARS_MAX = 128
TITLE_CHARS_MAX = 200
ALIASES_MAX, ALIAS_CHARS_MAX = 20, 200
SOURCES_MAX, LABEL_CHARS_MAX, URI_CHARS_MAX, SOURCE_ID_CHARS_MAX = 100, 500, 2_000, 200
CITED_MAX = 200  # the most memories that a page cites
NAME_CHARS_MAX = 512  # the most characters of the id of an app or an agent bundle

# Words of lower-case letters and digits, separated by single marks: "refunds", "customers/acme-corp", "notes/2026.11".
_SLUG = re.compile(r"[a-z0-9]+(?:[-_.][a-z0-9]+)*(?:/[a-z0-9]+(?:[-_.][a-z0-9]+)*)*")
_NOT_OF_SLUG = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSource:
    """A source of a page, as the page's writer names it. The service does not look it up."""

    label: str = ""
    uri: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageInput:
    """A page as its writer sends it."""

    slug: str  # if empty, it is made from the title
    title: str
    markdown: str
    aliases: Sequence[str] = ()
    sources: Sequence[PageSource] = ()
    memory_ids: Sequence[UUID] = ()
    fresh_until: datetime | None = None
    app_id: str = ""
    agent_bundle_id: str = ""

    @property
    def sha256(self) -> bytes:
        """The hash that identifies a version's content: writing the same content again only confirms the version."""
        hashed = [
            self.title,
            self.markdown,
            list(self.aliases),
            [[source.label, source.uri, source.id] for source in self.sources],
            [str(memory_id) for memory_id in self.memory_ids],
        ]
        return hashlib.sha256(orjson.dumps(hashed)).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageVersion:
    """A version of a page, without its text."""

    version: int
    title: str
    created_by: str
    created_at: datetime
    size_bytes: int
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page, in one of its versions.

    Attributes:
        version: The number of the version that has this text, from 1.
        newest_version: The number of the newest version of the page.
        as_of: When the newest version was last confirmed; for an older version, when it was written.
        markdown: The text of the page; empty in lists.
        stale: Why the page is out of date; empty if it is not, as far as is known.
    """

    page_id: UUID
    slug: str
    title: str
    version: int
    newest_version: int
    aliases: Sequence[str]
    memory_ids: Sequence[UUID]
    sources: Sequence[PageSource] = field(default_factory=tuple)
    markdown: str = ""
    size_bytes: int
    as_of: datetime
    fresh_until: datetime | None
    stale: Sequence[str] = field(default_factory=tuple)
    owner_user_id: str
    app_id: str
    agent_bundle_id: str
    created_by: str
    written_by: str
    created_at: datetime
    updated_at: datetime
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names


@dataclass(frozen=True, slots=True, kw_only=True)
class PageName:
    """Names a page: by its id, or by its slug or an alias within an app and an agent bundle."""

    page_id: UUID | None
    slug: str
    app_id: str = ""
    agent_bundle_id: str = ""

    def check(self) -> None:
        """Refuse a name that names no page, or that has both an id and a slug.

        Raises:
            InvalidArgument: a field is malformed.
            LimitExceeded: a field is too long or too large.
        """
        if (self.page_id is None) == (not self.slug):
            raise InvalidArgument("give either page_id or slug", field="page_id")
        check_text("slug", self.slug, chars_max=ALIAS_CHARS_MAX)
        check_text("app_id", self.app_id, chars_max=NAME_CHARS_MAX)
        check_text("agent_bundle_id", self.agent_bundle_id, chars_max=NAME_CHARS_MAX)


def check_page(page_input: PageInput) -> None:
    """Check the fields of a page that a caller writes.

    Raises:
        InvalidArgument: a field is malformed.
        LimitExceeded: a field is too long or too large.
    """
    check_slug(page_input.slug)
    check_text("page.title", page_input.title, chars_max=TITLE_CHARS_MAX)
    if not page_input.title.strip():
        raise InvalidArgument("page.title must not be blank", field="page.title")
    check_long_text("page.markdown", page_input.markdown, size_bytes_max=PAGE_BYTES_MAX)
    if not page_input.markdown.strip():
        raise InvalidArgument("page.markdown must not be blank", field="page.markdown")
    for limit, value, value_max in (
        ("page.aliases", len(page_input.aliases), ALIASES_MAX),
        ("page.sources", len(page_input.sources), SOURCES_MAX),
        ("page.memory_ids", len(page_input.memory_ids), CITED_MAX),
    ):
        check_count(limit, value, value_max)
    for number, alias in enumerate(page_input.aliases):
        where = f"page.aliases[{number}]"
        check_text(where, alias, chars_max=ALIAS_CHARS_MAX)
        if not alias.strip():
            raise InvalidArgument(f"{where} must not be blank", field=where)
    for number, source in enumerate(page_input.sources):
        where = f"page.sources[{number}]"
        check_text(f"{where}.label", source.label, chars_max=LABEL_CHARS_MAX)
        check_text(f"{where}.uri", source.uri, chars_max=URI_CHARS_MAX)
        check_text(f"{where}.id", source.id, chars_max=SOURCE_ID_CHARS_MAX)
        if not (source.label or source.uri or source.id):
            raise InvalidArgument(f"{where} must have a label, uri or id", field=where)
    check_text("page.app_id", page_input.app_id, chars_max=NAME_CHARS_MAX)
    check_text("page.agent_bundle_id", page_input.agent_bundle_id, chars_max=NAME_CHARS_MAX)


def check_slug(slug: str) -> None:
    """Check a slug; an empty one is allowed, because it is made from the title later.

    Raises:
        InvalidArgument: the slug is malformed.
        LimitExceeded: the slug is too long.
    """
    check_text("page.slug", slug, chars_max=SLUG_CHARS_MAX)
    if slug and not _SLUG.fullmatch(slug):
        raise InvalidArgument(
            "page.slug must be lowercase letters and digits, with single marks (- _ . /) between them, such as"
            f" customers/acme-corp (got {slug!r})",
            field="page.slug",
        )


def slug_of(title: str) -> str:
    """Return the slug of a title.

    Raises:
        InvalidArgument: the title has no letters to make a slug from.
    """
    plain = unicodedata.normalize("NFKD", title[:TITLE_CHARS_MAX]).encode("ascii", "ignore").decode().lower()
    slug = _NOT_OF_SLUG.sub("-", plain).strip("-")[:SLUG_CHARS_MAX].strip("-")
    if not slug:
        raise InvalidArgument(
            "page.slug is required: page.title has no letters or digits to make one from", field="page.slug"
        )
    return slug


def compared(name: str) -> str:
    """Return a slug or an alias in the form in which names are compared: lower case, single spaces."""
    return " ".join(unicodedata.normalize("NFC", name.casefold()).split())


def names_of(slug: str, aliases: Sequence[str]) -> list[str]:
    """Return all names that lead to a page, the slug first."""
    return list(dict.fromkeys([slug, *map(compared, aliases)]))


@dataclass(frozen=True, slots=True, kw_only=True)
class PagePassage:
    """A section of a page that answers a question."""

    page_id: UUID
    slug: str
    title: str
    version: int
    heading: str  # the heading after the headings above it; empty for a text before the first heading
    ordinal: int
    text: str
    written_at: datetime
    as_of: datetime
    fresh_until: datetime | None
    stale: Sequence[str]  # why the page is out of date
    score: float
    cosine: float | None = None  # cosine similarity to the question; None if either has no embedding
    aliases: Sequence[str] = ()  # the other names of the page
    cites: Sequence[UUID] = ()  # the memories that the page cites, of those for which it was searched


@dataclass(frozen=True, slots=True, kw_only=True)
class PageResults:
    """The matching sections, best first."""

    pages: Sequence[PagePassage]
    by_meaning: bool
    error: str = ""  # why embeddings were not compared, although an embedder is configured


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPage:
    """The page that a name leads to."""

    page_id: UUID
    slug: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Newest:
    """The newest version of a page, which the writer of the next version must know."""

    page_id: UUID
    version: int
    seq: int
    passage_count: int
    sha256: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class PageIndexEntry:
    """The texts and names by which a page is found."""

    headings: Sequence[str]
    pieces: Sequence[PagePiece]
    numbers: Sequence[Sequence[int]]  # for each piece: the numbers of its terms in the index


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The user that owns pages, and the app and agent bundle whose callers may also see them."""

    tenant_id: UUID
    user_id: str
    app_id: str
    agent_bundle_id: str

    def name_id(self, name: str) -> UUID:
        """Return the id of a name among the pages of this owner."""
        whose = orjson.dumps([self.user_id, self.app_id, self.agent_bundle_id, name]).decode()
        return uuid5(self.tenant_id, whose)
