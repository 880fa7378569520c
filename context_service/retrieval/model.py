"""Values of retrieval: passages, the scopes that contain them, and their audience."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid5

# The kinds of scopes, with their contents.
CONTEXT = "context"  # the messages and artifacts of one context
MEMORY = "memory"  # the memories of one user
WIKI = "wiki"  # the wiki pages of one user
KNOWLEDGE_BASE = "knowledge-base"  # the documents of one knowledge base
BRAIN = "brain"  # the compiled pages of one tenant
OF_USERS = (MEMORY, WIKI)  # a user has one scope of each of these kinds; erasing the user erases them


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageScope:
    """Passages that are searched together, such as those of one context."""

    kind: str
    id: UUID
    context_id: UUID | None = None  # the context to which the passages belong, if any

    @classmethod
    def of_context(cls, context_id: UUID) -> PassageScope:
        """Return the scope of a context."""
        return cls(kind=CONTEXT, id=context_id, context_id=context_id)

    @classmethod
    def of_user(cls, kind: str, tenant_id: UUID, user_id: str) -> PassageScope:
        """Return the scope of a user, for a kind of scope that a user has one of."""
        return cls(kind=kind, id=uuid5(tenant_id, f"{kind} of {user_id}"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """The readers of passages: the columns that the row-level policies check."""

    owner_user_id: str = ""
    ancestors: tuple[UUID, ...] = ()  # ids of the context and of those above it
    graph_name: str = ""
    agent_bundle_id: str = ""
    app_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A chunk of text, as it is written to the index of words."""

    seq: int  # position of the message, artifact or document in the scope
    ordinal: int  # position of the passage within it
    session: int  # a number chosen by the writer, such as the `seq` of the session's first message
    text: str
    terms: Sequence[str]  # in the order of the text
    numbers: Sequence[int] | None = None  # numbers of the terms in the scope, if known before the write
    kind: str  # "text", "data", "tool_result", "artifact", …
    said_at: datetime | None  # None if the statement that writes it takes the time from another row
    is_said: bool = True  # whether it was spoken: then the spoken passages before and after it are its neighbours
    marks: int = 0  # bits for features of the text that ranking uses (`pure.marks`)
    role: str = ""
    author: str = ""
    part: int = 0  # index of the part of the message
    task_id: UUID | None = None
    source_id: UUID | None = None  # id of the artifact, record or document


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfilled:
    """The progress of a backfill, which queues in the outbox the work that older rows lack."""

    to_do: int = 0  # rows that lacked something when the backfill began
    owed: int = 0  # of these, rows that are queued now, or done already
    databases_away: tuple[str, ...] = ()  # databases that do not answer; their rows are not counted

    def __add__(self, other: Backfilled) -> Backfilled:
        return Backfilled(
            to_do=self.to_do + other.to_do,
            owed=self.owed + other.owed,
            databases_away=tuple(sorted({*self.databases_away, *other.databases_away})),
        )
