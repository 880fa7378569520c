"""Specialists of tenants: each searches one folder of the workspace, as its administrators say how.

What a specialist may read is no matter of what is said here: it reads as whoever asks it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from context_service.knowledge.specialist_rows import SpecialistRows
from contextkeep.errors import InvalidArgument, InvalidPageToken, LimitExceeded, PermissionDenied, SpecialistNotFound
from service_runtime import pages
from service_runtime.auth import Principal
from service_runtime.documents import check_text
from service_runtime.postgres import Database, Row, Transaction
from service_runtime.requests import Request, Requests

SPECIALISTS_MAX = 50  # of a tenant
ID_CHARS_MAX = 50
INSTRUCTIONS_CHARS_MAX = 8_000
NODES_MAX = 20
STEPS_DEFAULT, STEPS_MAX = 4, 10
_NAME_CHARS_MAX = 200
_ID = re.compile(r"[a-z][a-z0-9-]{0,49}")
_PROVIDER = "sub-agent-"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecialistInput:
    """What an administrator says of a specialist."""

    specialist_id: str
    display_name: str = ""  # empty: the id
    instructions: str = ""
    node_ids: tuple[UUID, ...] = ()  # its folder; empty: it is not wired
    steps_max: int = 0  # 0: `STEPS_DEFAULT`
    is_default: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Specialist:
    """A specialist, as it is stored."""

    specialist_id: str
    display_name: str
    instructions: str
    node_ids: tuple[UUID, ...]
    steps_max: int
    is_default: bool
    version: int
    created_at: datetime
    updated_at: datetime
    updated_by: str

    @property
    def provider_id(self) -> str:
        """By which id context query knows it."""
        return f"{_PROVIDER}{self.specialist_id}"


class Specialists:
    """Specialists; each time for a principal.

    Args:
        database: Where they are.
        requests: The request ids of this service.
    """

    def __init__(self, database: Database, *, requests: Requests) -> None:
        self._database = database
        self._requests = requests
        self._rows = SpecialistRows(database)
        self.changes = 0  # by this process, so that what it remembers of them can be told from what is now

    async def put(self, said: SpecialistInput, *, principal: Principal, request: Request | None) -> Specialist:
        """Write a specialist as it is said, whether there was one or not.

        Raises:
            InvalidArgument: a field is malformed.
            LimitExceeded: too much is said, or there are too many.
            PermissionDenied: the key is bound.
            RequestIdReused: see the contract.
        """
        _check_bounds(principal)
        _check(said)

        async def work(transaction: Transaction) -> Specialist:
            if request:
                await self._requests.claim(transaction, request)
            row, count = await self._rows.put(
                transaction,
                said.specialist_id,
                display_name=said.display_name or said.specialist_id,
                instructions=said.instructions,
                node_ids=list(said.node_ids),
                steps_max=said.steps_max or STEPS_DEFAULT,
                is_default=said.is_default,
                by=principal.subject,
            )
            _check_count("specialists", count, SPECIALISTS_MAX)
            specialist = Specialist(
                specialist_id=said.specialist_id,
                display_name=said.display_name or said.specialist_id,
                instructions=said.instructions,
                node_ids=said.node_ids,
                steps_max=said.steps_max or STEPS_DEFAULT,
                is_default=said.is_default,
                version=row.version,
                created_at=row.created_at,
                updated_at=row.updated_at,
                updated_by=row.updated_by,
            )
            if request:
                await self._requests.answer(transaction, request, specialist)
            return specialist

        try:
            return await self._database.of(principal).transaction(work)
        finally:  # of a commit that nobody heard of, too
            self.changes += 1

    async def page(self, page: pages.PageRequest, *, principal: Principal) -> tuple[list[Specialist], str]:
        """Return a page of specialists, by id, and the token of the next one.

        Raises:
            InvalidArgument, InvalidPageToken: see the contract.
        """
        query = ("ListSpecialists", principal.tenant_id)
        key = pages.decode_token(query, page.token, parts=1)
        after = key[0] if key else ""
        if not isinstance(after, str) or "\0" in after:
            raise InvalidPageToken("page_token is malformed", field="page_token")
        count = pages.page_size(page.size)
        rows = await self._rows.page(principal, after=after, count=count + 1)
        token = pages.encode_token(query, (rows[count - 1].specialist_id,)) if len(rows) > count else ""
        return [_specialist(row) for row in rows[:count]], token

    async def all(self, *, principal: Principal) -> Sequence[Specialist]:
        """Return all of a tenant, by id."""
        return [_specialist(row) for row in await self._rows.page(principal, after="", count=SPECIALISTS_MAX)]

    async def delete(self, specialist_id: str, *, principal: Principal, request: Request | None) -> None:
        """Remove a specialist.

        Raises:
            InvalidArgument: this is no id.
            SpecialistNotFound: there is none.
            PermissionDenied: the key is bound.
            RequestIdReused: see the contract.
        """
        _check_bounds(principal)
        _check_id("specialist_id", specialist_id)

        async def work(transaction: Transaction) -> None:
            if request:
                await self._requests.claim(transaction, request)
            if not await self._rows.delete(transaction, specialist_id):
                raise SpecialistNotFound("there is no such specialist", specialist_id=specialist_id)
            if request:
                await self._requests.answer(transaction, request)

        try:
            await self._database.of(principal).transaction(work)
        finally:
            self.changes += 1


def _check(said: SpecialistInput) -> None:
    _check_id("specialist.specialist_id", said.specialist_id)
    check_text("specialist.display_name", said.display_name, chars_max=_NAME_CHARS_MAX)
    check_text("specialist.instructions", said.instructions, chars_max=INSTRUCTIONS_CHARS_MAX)
    _check_count("specialist.node_ids", len(said.node_ids), NODES_MAX)
    if not 0 <= said.steps_max <= STEPS_MAX:
        raise InvalidArgument(
            f"specialist.steps_max is {said.steps_max}, and not 1 to {STEPS_MAX}",
            field="specialist.steps_max",
            limit_max=STEPS_MAX,
            value=said.steps_max,
        )


def _check_id(field: str, specialist_id: str) -> None:
    check_text(field, specialist_id, chars_max=ID_CHARS_MAX, required=True)
    if not _ID.fullmatch(specialist_id):
        raise InvalidArgument(f"{field} is not of small letters, digits and hyphens, a letter first", field=field)


def _check_count(field: str, value: int, value_max: int) -> None:
    if value > value_max:
        raise LimitExceeded(
            f"{field} is {value}; the limit is {value_max}", field=field, limit=field, limit_max=value_max, value=value
        )


def _check_bounds(principal: Principal) -> None:
    """Refuse a key with bounds to write what holds for the tenant: a delete would say that there is nothing."""
    if principal.bounds:
        raise PermissionDenied("the key is bound, and specialists are the tenant's")


def _specialist(row: Row) -> Specialist:
    return Specialist(
        specialist_id=row.specialist_id,
        display_name=row.display_name,
        instructions=row.instructions,
        node_ids=tuple(row.node_ids),
        steps_max=row.steps_max,
        is_default=row.is_default,
        version=row.version,
        created_at=row.created_at,
        updated_at=row.updated_at,
        updated_by=row.updated_by,
    )
