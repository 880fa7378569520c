"""What went wrong, for people: a sentence, what to do, and whether it is the service that is away."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Generic, TypeVar

from contextkeep import errors

T = TypeVar("T")

# The first that fits.
_KINDS: tuple[tuple[type[errors.ContextKeepError], tuple[int, str, str]], ...] = (
    (errors.Unavailable, (503, "A service cannot be reached", "Reload the page to try again.")),
    (errors.DeadlineExceeded, (504, "A service took too long", "Ask for less, or try again.")),
    (errors.Unauthenticated, (401, "The key is not taken", "Sign in again.")),
    (errors.PermissionDenied, (403, "The key may not do this", "Sign in with a key that has the scope.")),
    (errors.NotFound, (404, "There is no such thing", "Check the id, and that the key is of the tenant that has it.")),
    (errors.SubjectRequired, (400, "A user must be named", "Sign in again, and say for whom: the key has no user.")),
    (errors.InvalidArgument, (400, "Something in the form is wrong", "")),
    (errors.VersionConflict, (409, "Another caller changed it first", "Look at it as it is now, then decide again.")),
    (errors.Aborted, (409, "Another caller was faster", "Look at it as it is now, then decide again.")),
    (errors.AlreadyExists, (409, "It is there already", "")),
    (errors.FailedPrecondition, (409, "Its state forbids this", "")),
    (errors.ResourceExhausted, (429, "A limit was passed", "Ask for less, or wait.")),
    (errors.Unimplemented, (501, "The service does not know this call", "It is older than the console.")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What went wrong."""

    status: int
    title: str
    text: str
    advice: str = ""
    reason: str = ""
    details: tuple[tuple[str, str], ...] = ()

    @property
    def is_lost_service(self) -> bool:
        """Whether it will be right again without anybody here doing something."""
        return self.status in {503, 504}


def trouble_of(error: errors.ContextKeepError) -> Trouble:
    """Return what an error says to people."""
    unknown = (500, "Something went wrong in a service", "Its log says more.")
    status, title, advice = next((texts for kind, texts in _KINDS if isinstance(error, kind)), unknown)
    return Trouble(
        status=status,
        title=title,
        text=error.message,
        advice=advice,
        reason=error.reason,
        details=tuple((name, value) for name, value in error.metadata.items() if value),
    )


@dataclass(frozen=True, slots=True)
class Part(Generic[T]):
    """A part of a page: what it shows, or why it shows nothing."""

    value: T | None
    trouble: Trouble | None = None


async def part(wanted: Awaitable[T]) -> Part[T]:
    """Wait for a part of a page. What fails leaves the other parts alone, but for a key that is no longer taken."""
    try:
        return Part(await wanted)
    except errors.Unauthenticated:
        raise
    except errors.ContextKeepError as error:
        return Part(None, trouble_of(error))
