"""Specialists of tenants: each searches one folder of the workspace, with instructions of an administrator.

These settings never widen what a specialist may read: it reads as its caller.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from context_service.kernel.catalog import Catalog, Table, check_unbound
from context_service.specialists.model import Specialist, SpecialistInput
from contextkeep.errors import InvalidArgument, SpecialistNotFound
from service_runtime.inputs import pages
from service_runtime.postgres import Database, Row
from service_runtime.rpc.principal import Principal
from service_runtime.statements.requests import Request, Requests
from service_runtime.values.checks import check_between, check_count, check_stored, check_text

SPECIALISTS = Table(
    name="context.specialist",
    key="specialist_id",
    columns=("display_name", "instructions", "node_ids", "steps_max", "is_default"),
)
SPECIALISTS_MAX = 50  # the most specialists of a tenant
ID_CHARS_MAX = 50
INSTRUCTIONS_CHARS_MAX = 8_000
NODES_MAX = 20
STEPS_DEFAULT, STEPS_MAX = 4, 10
NAME_CHARS_MAX = 200
_ID = re.compile(r"[a-z][a-z0-9-]{0,49}")
_THINGS = "specialists"


class Specialists:
    """Reads and changes the specialists of tenants; each call acts for its principal.

    Args:
        database: The database that holds the specialists.
        requests: The store of idempotency keys and their answers.
    """

    def __init__(self, database: Database, *, requests: Requests) -> None:
        self._catalog = Catalog(
            database,
            SPECIALISTS,
            requests=requests,
            of_row=_specialist,
            not_found=lambda name: SpecialistNotFound(f"specialist {name[:100]!r} does not exist", specialist_id=name),
            check_count=lambda count: check_stored("specialists", count, SPECIALISTS_MAX),
        )

    @property
    def changes(self) -> int:
        """A counter that grows when this process changes a specialist; see `Catalog`."""
        return self._catalog.changes

    async def put(
        self, specialist_input: SpecialistInput, *, principal: Principal, request: Request | None
    ) -> Specialist:
        """Create a specialist, or replace it.

        Raises:
            InvalidArgument: a field is malformed.
            LimitExceeded: a field is too large, or there are too many.
            PermissionDenied: the key is bound.
            RequestIdReused: another request had the same request id.
        """
        check_unbound(principal, _THINGS)
        _check(specialist_input)
        values = {
            "display_name": specialist_input.display_name or specialist_input.specialist_id,
            "instructions": specialist_input.instructions,
            "node_ids": list(specialist_input.node_ids),
            "steps_max": specialist_input.steps_max or STEPS_DEFAULT,
            "is_default": specialist_input.is_default,
        }
        return await self._catalog.put(specialist_input.specialist_id, values, principal=principal, request=request)

    async def page(self, page: pages.PageRequest, *, principal: Principal) -> tuple[list[Specialist], str]:
        """Return a page of specialists, by id, and the token of the next one.

        Raises:
            InvalidArgument: the page size is negative, or another field is malformed.
            InvalidPageToken: the page token is malformed, or belongs to another list.
        """
        return await self._catalog.page(page, query=("ListSpecialists", principal.tenant_id), principal=principal)

    async def all(self, *, principal: Principal) -> Sequence[Specialist]:
        """Return all specialists of a tenant, by id."""
        return await self._catalog.first(SPECIALISTS_MAX, principal=principal)

    async def delete(self, specialist_id: str, *, principal: Principal, request: Request | None) -> None:
        """Remove a specialist.

        Raises:
            InvalidArgument: the id is malformed.
            SpecialistNotFound: the specialist does not exist.
            PermissionDenied: the key is bound.
            RequestIdReused: another request had the same request id.
        """
        check_unbound(principal, _THINGS)
        _check_id("specialist_id", specialist_id)
        await self._catalog.delete(specialist_id, principal=principal, request=request)


def _check(specialist_input: SpecialistInput) -> None:
    """Check the fields of a specialist.

    Raises:
        InvalidArgument: a field is malformed or out of range.
        LimitExceeded: a text is too long, or there are too many nodes.
    """
    _check_id("specialist.specialist_id", specialist_input.specialist_id)
    check_text("specialist.display_name", specialist_input.display_name, chars_max=NAME_CHARS_MAX)
    check_text("specialist.instructions", specialist_input.instructions, chars_max=INSTRUCTIONS_CHARS_MAX)
    check_count("specialist.node_ids", len(specialist_input.node_ids), NODES_MAX)
    check_between("specialist.steps_max", specialist_input.steps_max, 0, STEPS_MAX)


def _check_id(field: str, specialist_id: str) -> None:
    """Check the id of a specialist.

    Raises:
        InvalidArgument: it is empty, or has other characters than lowercase letters, digits and hyphens.
        LimitExceeded: the text is too long.
    """
    check_text(field, specialist_id, chars_max=ID_CHARS_MAX, required=True)
    if not _ID.fullmatch(specialist_id):
        raise InvalidArgument(
            f"{field} must be lowercase letters, digits and hyphens, and begin with a letter (got {specialist_id!r})",
            field=field,
        )


def _specialist(row: Row) -> Specialist:
    return Specialist(**{**row._asdict(), "node_ids": tuple(row.node_ids)})
