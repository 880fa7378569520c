"""The register of erasures: who was erased, said by a hash, where no backup of Postgres brings it back.

Each is a line of JSON. A database that is restored from before an erasure has the subject back, and nothing that says
so: the line does, to whoever compares it with all subjects that are there. Both services read it.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import orjson

from contextkeep.errors import InvalidArgument
from service_runtime.postgres import Across, Tenant
from service_runtime.table_pages import pages_of

_BYTES_MAX = 256 * 2**20  # of a file: a million erasures


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """An erasure that was begun."""

    tenant_id: UUID
    erasure_id: UUID
    subject_sha256: bytes  # with the id: see `hash_of`

    def line(self) -> str:
        """Return it as a line of a file."""
        said = {
            "tenant_id": str(self.tenant_id),
            "erasure_id": str(self.erasure_id),
            "subject_sha256": self.subject_sha256.hex(),
        }
        return orjson.dumps(said).decode()


@dataclass(slots=True, kw_only=True)
class Replayed:
    """What came of lines."""

    known: int = 0  # the database has their receipts: it is not from before them
    erased: int = 0  # whom they name was there, and is gone again
    nobody: int = 0  # whom they name was not there
    held: list[str] = field(default_factory=list)  # erasures that a hold forbids
    databases_away: tuple[str, ...] = ()  # that do not answer: no line was looked up there


def hash_of(erasure_id: UUID, subject: str) -> bytes:
    """Return what is left of a subject: of each erasure another one, so that two are not told to be of the same."""
    return hashlib.sha256(erasure_id.bytes + subject.encode()).digest()


def read(path: Path) -> list[Erased]:
    """Return the lines of a file, each once.

    Raises:
        InvalidArgument: there is none, or a line is malformed.
    """
    try:
        if path.stat().st_size > _BYTES_MAX:
            raise InvalidArgument(f"{path} is larger than {_BYTES_MAX} bytes")
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InvalidArgument(f"{path} cannot be read: {error.strerror}") from error
    found = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            said = orjson.loads(line)
            sha256 = bytes.fromhex(said["subject_sha256"])
            if len(sha256) != hashlib.sha256().digest_size:
                raise ValueError("no hash")
            one = Erased(tenant_id=UUID(said["tenant_id"]), erasure_id=UUID(said["erasure_id"]), subject_sha256=sha256)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InvalidArgument(f"{path}, line {number}: it is no erasure of a register") from None
        found[one.tenant_id, one.erasure_id] = one
    return list(found.values())


def named_by(lines: Sequence[Erased], subjects: Iterable[str]) -> dict[UUID, str]:
    """Return whom lines name, by the ids of the erasures, among some subjects: each line is tried with each."""
    return {
        one.erasure_id: subject
        for subject in subjects
        for one in lines
        if hash_of(one.erasure_id, subject) == one.subject_sha256
    }


async def looked_up(
    tenant: Tenant,
    lines: Sequence[Erased],
    done: Replayed,
    *,
    known: str,
    subjects: Callable[[Tenant], AsyncIterator[set[str]]],
) -> tuple[list[Erased], dict[UUID, str]]:
    """Return those of the lines of a tenant that its database knows nothing of, and whom they name, by their ids.

    Args:
        tenant: Whose.
        lines: Of all tenants.
        done: Is told how many are known.
        known: The statement that finds those of some erasures that have receipts.
        subjects: Yields the ids of all users that there are.
    """
    theirs = [one for one in lines if one.tenant_id == tenant.tenant_id]
    found = await tenant.query(known, (tenant.tenant_id, [one.erasure_id for one in theirs]))
    receipts = {row.erasure_id for row in found}
    done.known += len(receipts)
    left = [one for one in theirs if one.erasure_id not in receipts]
    whom: dict[UUID, str] = {}
    if left:
        async for some in subjects(tenant):
            whom |= await asyncio.to_thread(named_by, left, some)
    return left, whom


async def subjects_in(tenant: Tenant, statements: Mapping[str, str | Across]) -> AsyncIterator[set[str]]:
    """Yield the ids of users that tables have of a tenant, each once.

    Args:
        tenant: Whose.
        statements: By table, what finds those of a page of it.
    """
    seen: set[str] = set()
    for table, statement in statements.items():
        async for pages in pages_of(tenant, table):
            found = await tenant.query(statement, {"tenant_id": tenant.tenant_id, **pages})
            new = {row.subject for row in found} - seen
            seen |= new
            if new:
                yield new
