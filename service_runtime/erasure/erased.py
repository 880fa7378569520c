"""The register of erasures: hashes of erased subjects, kept where a restored backup of Postgres does not undo them.

Each erasure is a line of JSON. A database that is restored to a moment before an erasure has the subject again, and no
row that records the erasure. The line does: both services compare its hash with all subjects in the database.
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
from service_runtime.background_work.table_pages import pages_of
from service_runtime.postgres import Across, Tenant

_BYTES_MAX = 256 * 2**20  # largest size of a file: a million erasures


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """An erasure that was begun."""

    tenant_id: UUID
    erasure_id: UUID
    subject_sha256: bytes  # with the id: see `hash_of`

    def line(self) -> str:
        """Return the erasure as a line of the register."""
        fields = {
            "tenant_id": str(self.tenant_id),
            "erasure_id": str(self.erasure_id),
            "subject_sha256": self.subject_sha256.hex(),
        }
        return orjson.dumps(fields).decode()


@dataclass(slots=True, kw_only=True)
class Replayed:
    """The outcome of the lines of a register."""

    known: int = 0  # lines with a receipt in the database
    erased: int = 0  # lines whose subject was found and erased again
    nobody: int = 0  # lines whose subject was not found
    held: list[str] = field(default_factory=list)  # erasures that a hold forbids
    databases_away: tuple[str, ...] = ()  # databases that do not answer; no line was looked up in them


def hash_of(erasure_id: UUID, subject: str) -> bytes:
    """Return the hash of a subject. It differs by erasure, so that two lines do not show the same subject."""
    return hashlib.sha256(erasure_id.bytes + subject.encode()).digest()


def read(path: Path) -> list[Erased]:
    """Return the lines of a file, each once.

    Raises:
        InvalidArgument: the file is missing, or a line is malformed.
    """
    try:
        if path.stat().st_size > _BYTES_MAX:
            raise InvalidArgument(f"{path} must have at most {_BYTES_MAX:,} bytes")
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InvalidArgument(f"{path} cannot be read: {error.strerror}") from error
    erasures = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            fields = orjson.loads(line)
            sha256 = bytes.fromhex(fields["subject_sha256"])
            if len(sha256) != hashlib.sha256().digest_size:
                raise ValueError("no hash")
            erased = Erased(
                tenant_id=UUID(fields["tenant_id"]), erasure_id=UUID(fields["erasure_id"]), subject_sha256=sha256
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InvalidArgument(f"{path}, line {number}: it is not a valid entry of a register of erasures") from None
        erasures[erased.tenant_id, erased.erasure_id] = erased
    return list(erasures.values())


def named_by(lines: Sequence[Erased], subjects: Iterable[str]) -> dict[UUID, str]:
    """Return the subjects that lines name, by the ids of the erasures; each line is compared with each subject."""
    return {
        line.erasure_id: subject
        for subject in subjects
        for line in lines
        if hash_of(line.erasure_id, subject) == line.subject_sha256
    }


async def looked_up(
    tenant: Tenant,
    lines: Sequence[Erased],
    done: Replayed,
    *,
    known: str,
    subjects: Callable[[Tenant], AsyncIterator[set[str]]],
) -> tuple[list[Erased], dict[UUID, str]]:
    """Return the lines of a tenant without a receipt in its database, and the users that they name, by erasure id.

    Args:
        tenant: The tenant whose lines are looked up.
        lines: The register's lines, of all tenants.
        done: Outcome of the replay; the number of lines that have receipts is added to it.
        known: Statement that finds the erasures with receipts among those of given ids.
        subjects: Yields the ids of all users of a tenant, in sets.
    """
    theirs = [line for line in lines if line.tenant_id == tenant.tenant_id]
    receipt_rows = await tenant.query(known, (tenant.tenant_id, [line.erasure_id for line in theirs]))
    receipts = {row.erasure_id for row in receipt_rows}
    done.known += len(receipts)
    left = [line for line in theirs if line.erasure_id not in receipts]
    whom: dict[UUID, str] = {}
    if left:
        async for some in subjects(tenant):
            whom |= await asyncio.to_thread(named_by, left, some)
    return left, whom


async def subjects_in(tenant: Tenant, statements: Mapping[str, str | Across]) -> AsyncIterator[set[str]]:
    """Yield the ids of the users that some tables have rows of, each id once.

    Args:
        tenant: The tenant whose rows are read.
        statements: By table, the statement that finds the users in a range of its pages.
    """
    seen: set[str] = set()
    for table, statement in statements.items():
        async for pages in pages_of(tenant, table):
            rows = await tenant.query(statement, {"tenant_id": tenant.tenant_id, **pages})
            new = {row.subject for row in rows} - seen
            seen |= new
            if new:
                yield new
