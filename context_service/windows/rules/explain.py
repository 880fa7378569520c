"""Explaining a window: its parts, its receipts and its state."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from context_service.contexts.room import Log
from context_service.packing.model import PIN, Receipt, StoredEntry, ViewPart, Zones, zones_of
from context_service.packing.pure.state.task_state import CONTESTED, OTHER_RULE
from context_service.packing.pure.texts.tallies import ENTITY, NO_TALLIES, TOOL, Tallies
from context_service.windows.model import Window, window_not_found
from context_service.windows.pure.patches import SAID
from context_service.windows.store.windows import WindowRows
from contextkeep.errors import InvalidArgument
from service_runtime.inputs import pages
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.rpc.principal import Principal

if TYPE_CHECKING:
    from context_service.packing.room import ViewRows

ENTRY_SECTIONS = SAID | {PIN, CONTESTED, OTHER_RULE}  # the sections that current entries may have
_COUNTED = frozenset({TOOL, ENTITY})
_PART_BYTES = 20  # bytes of parsing that counting a part costs
_ENTRY_BYTES = 100  # the size of an entry in an answer, in addition to its texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """What a window shows, part by part."""

    window: Window
    parts: list[ViewPart]
    zones: Zones


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The state of the work.

    Attributes:
        window: The window.
        held: The current entries and the pins, oldest first.
        tallies: The counts of tools and things; on pages before the last page they are empty.
        next_page_token: The token of the next page of entries; empty on the last page.
    """

    window: Window
    held: list[StoredEntry]
    tallies: Tallies
    next_page_token: str = ""


class Accounts:
    """Explains windows: parts, breaks and state.

    Each call acts for its principal, who sees the windows of its user and those without a user.

    Args:
        rows: The store of windows.
        views: The store of the windows' parts and receipts.
        log: The contexts, whose messages the windows read.
    """

    def __init__(self, rows: WindowRows, views: ViewRows, *, log: Log) -> None:
        self._rows = rows
        self._views = views
        self._log = log

    async def explained(self, window_id: UUID, *, principal: Principal) -> Explained:
        """Return what the last pack of a window showed.

        Raises:
            WindowNotFound: the window does not exist.
        """
        principal = principal.without_admin()
        window = await self._rows.find(window_id, principal=principal)
        view = await self._views.view(window, principal=principal)
        if view is None:
            raise window_not_found(window_id)
        zones = await beside_the_loop(_PART_BYTES * len(view.parts), zones_of, window, view.parts)
        return Explained(window=window, parts=view.parts, zones=zones)

    async def lineage(
        self, window_id: UUID, page: pages.PageRequest, *, principal: Principal
    ) -> tuple[list[Receipt], str]:
        """Return a page of the breaks of a window's prefix, newest first, and the token of the next page.

        Raises:
            WindowNotFound: the window does not exist.
            InvalidArgument: the page size or another field of the request is out of range.
            InvalidPageToken: the page token is malformed, or belongs to another query.
        """
        principal = principal.without_admin()
        window = await self._rows.find(window_id, principal=principal)
        query = ("GetLineage", principal.tenant_id, window_id)
        count = pages.page_size(page.size)
        before = pages.decode_number(query, page.token)
        receipts = await self._views.receipts(window, principal=principal, before=before, count=count + 1)
        return pages.cut(query, receipts, count, key=lambda receipt: (receipt.epoch,))

    async def state(
        self, window_id: UUID, sections: Collection[str], page: pages.PageRequest, *, principal: Principal
    ) -> State:
        """Return a page of the entries of a window's state.

        Entries from a retracted message are left out at once, and the next pack deletes them. Until then the counts
        are left out too, because they still include the message.

        Args:
            window_id: The window whose state is read.
            sections: The wanted sections; empty for all.
            page: The wanted number of entries, and the token of the page.
            principal: The caller; it must be allowed to see the window.

        Raises:
            WindowNotFound: the window does not exist.
            InvalidArgument: a section is unknown.
            InvalidPageToken: the page token is malformed, or belongs to another query.
        """
        for section in sections:
            if section not in ENTRY_SECTIONS | _COUNTED:
                names = ", ".join(sorted(ENTRY_SECTIONS | _COUNTED))
                raise InvalidArgument(
                    f"sections names {section[:100]!r}, which does not exist; use {names}", field="sections"
                )
        principal = principal.without_admin()
        window = await self._rows.find(window_id, principal=principal)
        wanted_sections = frozenset(sections) or ENTRY_SECTIONS | _COUNTED
        query = ("GetState", principal.tenant_id, window_id, *sorted(wanted_sections))
        number, count = pages.decode_number(query, page.token), pages.page_size(page.size)
        behind = -1 if number is None else number
        stored_entries = (
            await self._views.entries(window, principal=principal) if wanted_sections & ENTRY_SECTIONS else []
        )
        following = [
            stored_entry
            for stored_entry in stored_entries
            if stored_entry.entry.section in wanted_sections and stored_entry.number > behind
        ]
        stored_entries = _first(following, count)
        token = pages.encode_token(query, (stored_entries[-1].number,)) if len(stored_entries) < len(following) else ""
        tallies = NO_TALLIES
        if wanted_sections & _COUNTED and not token:
            tallies = (await self._views.tallies(window, principal=principal)).most(wanted_sections)
        if await self._has_retracted(window, principal):
            stored_entries, tallies = await self._there(window, stored_entries, principal), NO_TALLIES
        return State(window=window, held=stored_entries, tallies=tallies, next_page_token=token)

    async def said_still(
        self, window: Window, stored_entries: list[StoredEntry], *, principal: Principal
    ) -> list[StoredEntry]:
        """Return the entries of a window whose messages are not retracted.

        Raises:
            WindowNotFound: the window's context is gone.
        """
        return (
            await self._there(window, stored_entries, principal)
            if await self._has_retracted(window, principal)
            else stored_entries
        )

    async def _has_retracted(self, window: Window, principal: Principal) -> bool:
        """Say whether messages were retracted since the window last read its log.

        Raises:
            WindowNotFound: the window's context is gone.
        """
        context = await self._log.read(window.context_id, principal=principal)
        if context is None:
            raise window_not_found(window.window_id)
        return context.last_seq - context.message_count != window.retracted_count

    async def _there(
        self, window: Window, stored_entries: list[StoredEntry], principal: Principal
    ) -> list[StoredEntry]:
        """Return the entries whose messages still exist and are not retracted, and the entries of callers."""
        seqs = {stored_entry.entry.seq for stored_entry in stored_entries if stored_entry.entry.ref}
        there = await self._log.message_ids(window.context_id, sorted(seqs), principal=principal)
        return [
            stored_entry
            for stored_entry in stored_entries
            if not stored_entry.entry.ref or stored_entry.entry.seq in there
        ]


def _first(stored_entries: Sequence[StoredEntry], count: int) -> list[StoredEntry]:
    """Return the first entries, as many as fit on a page."""
    page: list[StoredEntry] = []
    room = pages.PAGE_BYTES_MAX
    for stored_entry in stored_entries[:count]:
        room -= _ENTRY_BYTES + sum(
            len(text.encode()) for text in (stored_entry.entry.key, stored_entry.entry.text, stored_entry.entry.value)
        )
        if room < 0 and page:
            break
        page.append(stored_entry)
    return page
