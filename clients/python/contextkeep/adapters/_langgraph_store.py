"""LangGraph's long-term store: each item is a record of working memory, which searches find by words and by meaning."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    get_text_at_path,
    tokenize_path,
)

from contextkeep.adapters._langgraph_filters import Conditions, conditions_of, filtered_fields, fits, may_match
from contextkeep.adapters._originals import readable_text, restored_json, stored_json
from contextkeep.client.sync.context import ContextClient
from contextkeep.errors import AnswerTooLarge, InvalidArgument, NotFound, RecordExists, RecordNotFound, VersionConflict
from contextkeep.ids import new_id
from contextkeep.values import Record, SearchHit

MEMORY_TYPE = "langgraph/item"
VALUE_TYPE = "langgraph/value"  # memory type of a file that holds a large value
_KEY = "langgraph"  # key in the metadata of a record, for namespace, key, and the value or the id of its file
_IDS = uuid.UUID("6f1f3a52-6d1c-4c55-9d55-1f0c3a0f5b0e")
_VALUE_BYTES_MAX = 40 * 1024  # largest value in the metadata, which may have 64 KiB
_FOUND_CHARACTERS_MAX = 50_000  # characters of a record's content that searches read
_QUERY_CHARACTERS_MAX = 1_000
_ATTEMPTS = 200  # attempts to change an item; each failed one means that another change of it was written
_ROWS = 1_000  # rows of one query
_HITS = 100  # hits of one search
_DEPTH_MAX = 5_000  # hits of a ranking that are read at most
_FULL_BYTES = 2**20  # an answer with more bytes of metadata may have ended because it was full
_FUSED_AT = 60  # the constant k of reciprocal rank fusion: Cormack et al., SIGIR 2009
_COLUMNS = ("working_memory_id", "metadata", "created_at", "updated_at")


class ContextStore(BaseStore):
    """A store for all threads, sync and async. A query finds words, and meaning if the service has an embedder.

    All callers of the tenant share the items, as they share records. Use namespaces to keep those of users apart.
    """

    def __init__(self, client: ContextClient, *, index: Sequence[str] | None = None) -> None:
        """Take a client; the store needs no setup.

        Args:
            client: Client of the Context Service; the caller closes it. Async methods use it in a thread.
            index: Paths of the texts in a value that a query searches, as in LangGraph. Default: all texts of a value.
        """
        self._client = client
        self._index = list(index) if index is not None else ["$"]

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run the operations in order, and return their results; if an item is put twice, the last put counts."""
        return [self._run_one(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """See `batch`."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _run_one(self, op: Op) -> Result:
        """Run one operation, and return its result.

        Raises:
            ValueError: it is not an operation of a store.
        """
        match op:
            case GetOp():
                return self._got(op)
            case PutOp():
                self._put(op)
                return None
            case SearchOp():
                return self._search(op)
            case ListNamespacesOp():
                return self._namespaces(op)
        raise ValueError(f"{type(op).__name__} is no operation of a store")

    def _got(self, op: GetOp) -> Item | None:
        """Return an item, or None if there is none.

        Raises:
            VersionConflict: the item changed each time that it was read.
        """
        # A large value is in a file of its own, which a concurrent put replaces. Then the item is read again.
        record_id = _id(op.namespace, op.key)
        for _ in range(_ATTEMPTS):
            try:
                record = self._client.records.get(record_id)
            except RecordNotFound:
                return None
            result = record.metadata[_KEY]
            value = self._value(result)
            if value is not None:
                return Item(
                    value=value,
                    key=restored_json(result["key"]),
                    namespace=tuple(restored_json(result["namespace"])),
                    created_at=record.created_at,
                    updated_at=record.updated_at,
                )
        raise VersionConflict(f"{op.key!r} changed {_ATTEMPTS} times while it was read")

    def _put(self, op: PutOp) -> None:
        """Write or delete an item.

        A large value is a file. It is written before the item, and removed after the item has got another value.

        Raises:
            VersionConflict: other callers changed the item during each attempt.
        """
        record_id = _id(op.namespace, op.key)
        if op.value is None:
            self._delete(record_id)
            return
        value = dict(op.value)
        values: dict[str, Any] = {
            "namespace": stored_json(list(op.namespace)),
            "level": {str(place): stored_json(name) for place, name in enumerate(op.namespace)},
            "path": json.dumps(op.namespace),
            "key": stored_json(op.key),
        }
        if _fits_metadata(value):
            values["value"] = value
        else:
            values |= filtered_fields(value)
            values["value_at"] = new_id()
            self._client.blobs.upload(
                json.dumps(value).encode(),
                name="value",
                memory_type=VALUE_TYPE,
                content_type="application/octet-stream",  # so that searches do not read it: only `content_text` counts
                working_memory_id=values["value_at"],
            )
        text = self._text(op, value)
        name = readable_text(op.key[:400]) or "(empty)"
        for _ in range(_ATTEMPTS):
            try:
                self._client.records.insert(
                    MEMORY_TYPE, name, working_memory_id=record_id, metadata={_KEY: values}, content_text=text
                )
                return
            except RecordExists:
                pass
            try:
                before = self._client.records.get(record_id)
                self._client.records.update(
                    record_id, expected_version=before.version, metadata={_KEY: values}, content_text=text
                )
            except (RecordNotFound, VersionConflict):  # another call deleted or changed it
                continue
            self._delete_value(before.metadata[_KEY])
            return
        raise VersionConflict(f"{op.key!r} changed {_ATTEMPTS} times while it was written")

    def _delete(self, record_id: str) -> None:
        """Delete an item with its value. An item that is already deleted is not an error."""
        try:
            record = self._client.records.get(record_id)
            self._client.records.delete(record_id, purge=True)
        except RecordNotFound:
            return
        self._delete_value(record.metadata[_KEY])

    def _delete_value(self, values: Mapping[str, Any]) -> None:
        """Remove the file of a value whose item is gone or has another value."""
        if "value_at" in values:
            try:
                self._client.records.delete(values["value_at"], purge=True)
            except RecordNotFound:
                return

    def _value(self, values: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the value of an item; None if another call changed or deleted the item."""
        if "value_at" not in values:
            value: dict[str, Any] = values["value"]
            return value
        try:
            with self._client.blobs.get(values["value_at"]) as file:
                value = json.loads(b"".join(file))
        except NotFound:
            return None
        return value

    def _text(self, op: PutOp, value: Mapping[str, Any]) -> str:
        """Return the text that searches read of a value: the texts at the paths of the index."""
        if op.index is False:
            return ""
        paths = self._index if op.index is None else op.index
        # LangGraph reads "$" as the whole value only if the path was not split into tokens.
        texts = [
            text for path in paths for text in get_text_at_path(value, path if path == "$" else tokenize_path(path))
        ]
        return _findable("\n".join(map(_readable, texts)))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        """Return a page of the items that match a query and a filter; without a query, those written last come first.

        Raises:
            ValueError: the filter has an unknown operator.
        """
        if op.limit <= 0:
            return []
        wanted = op.filter or {}
        conditions = conditions_of(wanted, f"metadata.{_KEY}")
        where = {"$and": [_within(op.namespace_prefix), conditions.where]}
        if op.query:
            return self._searched(op, where, wanted)
        skipped = op.offset
        if op.offset and conditions.is_exact and not self._must_read(where, conditions):
            skipped = 0  # the service skips them
        rows = self._rows(where, offset=op.offset - skipped, count=op.limit + skipped)
        return self._page(((row, None) for row in rows), wanted, skipped, op.limit)

    def _must_read(self, where: Mapping[str, Any], conditions: Conditions) -> bool:
        """Return whether there are values that must be read to know whether they match."""
        if conditions.may_match is None:
            return False
        both = {"$and": [where, conditions.may_match]}
        return bool(list(self._client.records.query(["working_memory_id"], where=both, limit=1)))

    def _page(
        self,
        records: Iterable[tuple[Record | Mapping[str, Any], float | None]],
        wanted: Mapping[str, Any],
        skipped: int,
        limit: int,
    ) -> list[SearchItem]:
        """Return the items of records or rows that match a filter, but for the first `skipped`, and at most `limit`."""
        items: list[SearchItem] = []
        for item, score in records:
            stored = item.metadata[_KEY] if isinstance(item, Record) else item["metadata"][_KEY]
            is_known = "value_at" not in stored or not may_match(stored, wanted)
            if is_known and not fits(stored["value"], wanted):
                continue
            if is_known and skipped:
                skipped -= 1
                continue
            value = self._value(stored)
            if value is None or not fits(value, wanted):
                continue
            if skipped:
                skipped -= 1
                continue
            items.append(_item(item, value, score))
            if len(items) == limit:
                break
        return items

    def _searched(self, op: SearchOp, where: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[SearchItem]:
        """Return a page of the items that a query finds. Rankings are read deeper while the page is not full."""
        depth = _HITS
        while True:
            hits, is_whole = self._hits(op.query or "", where, depth)
            items = self._page(hits, wanted, op.offset, op.limit)
            if len(items) == op.limit or is_whole or depth == _DEPTH_MAX:
                return items
            depth = min(4 * depth, _DEPTH_MAX)

    def _hits(
        self, query: str, where: Mapping[str, Any], depth: int
    ) -> tuple[list[tuple[Record | Mapping[str, Any], float | None]], bool]:
        """Return the records that a query finds with their scores, the best first, and whether these are all.

        A search by any of the words and, if there is an embedder, a search by meaning are merged by rank.
        """
        rankings: list[list[SearchHit]] = []
        if words := _any_of(query):
            rankings.append(self._ranking(words, "text", where, depth))
        try:
            rankings.append(self._ranking(_readable(query)[:_QUERY_CHARACTERS_MAX], "vector", where, depth))
        except InvalidArgument as error:  # the service has no embedder, if the error is about the field `embedding`
            if [violation.field for violation in error.violations] != ["embedding"]:
                raise
        scores: dict[str, float] = {}
        records: dict[str, Record] = {}
        for hits in rankings:
            for place, hit in enumerate(hits, 1):
                record_id = hit.record.working_memory_id
                records[record_id] = hit.record
                scores[record_id] = scores.get(record_id, 0.0) + 1 / (_FUSED_AT + place)
        best = sorted(scores, key=lambda row: -scores[row])
        is_whole = all(len(hits) < depth for hits in rankings)
        return [(records[record_id], scores[record_id]) for record_id in best], is_whole

    def _ranking(
        self, text: str, mode: Literal["text", "vector"], where: Mapping[str, Any], depth: int
    ) -> list[SearchHit]:
        """Return the first `depth` hits of a search."""
        hits: list[SearchHit] = []
        while len(hits) < depth:
            count = min(_HITS, depth - len(hits))
            page = self._client.records.search(
                text, mode=mode, where=where, memory_types=[MEMORY_TYPE], limit=count, offset=len(hits)
            )
            hits += page
            # An answer may also end because it is full.
            if len(page) < count and sum(len(hit.record.metadata_json) for hit in page) < _FULL_BYTES:
                break
        return hits

    def _rows(self, where: Mapping[str, Any], *, offset: int, count: int) -> Iterator[Mapping[str, Any]]:
        """Yield the rows of items, those written last first.

        Args:
            where: The condition of the rows.
            offset: Rows to skip.
            count: Rows that are probably enough.
        """
        size = min(count, _ROWS)
        while True:
            try:
                rows = list(
                    self._client.records.query(
                        _COLUMNS, where=where, order_by=["-updated_at"], limit=size, offset=offset
                    )
                )
            except AnswerTooLarge:
                size = max(1, size // 4)
                continue
            yield from rows
            if len(rows) < size:
                return
            offset += len(rows)

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        """Return a page of the namespaces that match the conditions, each cut to `max_depth` names."""
        conditions = op.match_conditions or ()
        where: dict[str, Any] = {"memory_type": MEMORY_TYPE}
        for condition in conditions:
            if condition.match_type == "prefix":
                where |= {
                    f"metadata.{_KEY}.level.{n}": {"$eq": stored_json(name)}
                    for n, name in enumerate(condition.path)
                    if name != "*"
                }
        path = f"metadata.{_KEY}.path"
        rows: list[Mapping[str, Any]] = []
        while len(rows) % _ROWS == 0:
            page = self._client.records.query(
                [path], where=where, group_by=[path], order_by=[path], limit=_ROWS, offset=len(rows)
            )
            if not (more := list(page)):
                break
            rows += more
        every = [tuple(json.loads(row[path])) for row in rows]
        parameters = {
            item[: op.max_depth] for item in every if all(_matches(item, condition) for condition in conditions)
        }
        return sorted(parameters)[op.offset : op.offset + op.limit]


def _id(namespace: Sequence[str], key: str) -> str:
    return str(uuid.uuid5(_IDS, json.dumps([list(namespace), key])))


def _within(prefix: Sequence[str]) -> dict[str, Any]:
    """Return the condition for the items of a namespace and of those below it."""
    return {"memory_type": MEMORY_TYPE} | {
        f"metadata.{_KEY}.level.{place}": {"$eq": stored_json(name)} for place, name in enumerate(prefix)
    }


def _fits_metadata(value: Mapping[str, Any]) -> bool:
    """Say whether a value is short enough for metadata, and JSON that Postgres stores, without NaN or NUL."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        return len(text.encode()) <= _VALUE_BYTES_MAX and "\\u0000" not in text
    except ValueError:  # NaN, or a lone surrogate: a UnicodeEncodeError is a ValueError
        return False


def _readable(text: str) -> str:
    """Return a text as Postgres can store it; if it is a JSON document, its keys and values, one on each line."""
    if text[:1] in ("{", "["):
        with contextlib.suppress(ValueError):  # a text that only looks like JSON
            text = "\n".join(_leaves(json.loads(text)))
    return readable_text(text)


def _leaves(value: Any) -> Iterator[str]:
    """Yield the keys and the values of a JSON document, in their order."""
    rest = [value]
    while rest:
        value = rest.pop()
        if isinstance(value, dict):
            rest += [part for pair in reversed(value.items()) for part in reversed(pair)]
        elif isinstance(value, list):
            rest += reversed(value)
        elif value is not None:
            yield str(value)


def _findable(text: str) -> str:
    """Return a text that fits into the characters that a search reads, and is found by the words of `text`.

    The first half is kept unchanged. After it, each further word stands once, as far as there is room.
    """
    if len(text) <= _FOUND_CHARACTERS_MAX:
        return text
    kept = text[: _FOUND_CHARACTERS_MAX // 2].rpartition(" ")[0] or text[: _FOUND_CHARACTERS_MAX // 2]
    seen = set(re.findall(r"\w+", kept))
    more: list[str] = []
    left = _FOUND_CHARACTERS_MAX - len(kept)
    for item in re.finditer(r"\w+", text[len(kept) :]):
        word = item[0]
        if word not in seen and len(word) < left:
            seen.add(word)
            more.append(word)
            left -= len(word) + 1
    return " ".join([kept, *more])


def _any_of(query: str) -> str:
    """Return a query for records with any of the words in a text; words that do not fit into one query are left out."""
    words: dict[str, None] = {}
    left = _QUERY_CHARACTERS_MAX
    for word in re.findall(r"\w+", query):
        if word not in words and len(word) + 4 <= left:
            words[word] = None
            left -= len(word) + 4
    return " or ".join(words)


def _item(record: Record | Mapping[str, Any], value: dict[str, Any], score: float | None) -> SearchItem:
    """Return an item of a search from its record, or from a row of a query, and its value."""
    if isinstance(record, Record):
        result, created_at, updated_at = record.metadata[_KEY], record.created_at, record.updated_at
    else:
        result = record["metadata"][_KEY]
        created_at, updated_at = (datetime.fromisoformat(record[name]) for name in ("created_at", "updated_at"))
    return SearchItem(
        namespace=tuple(restored_json(result["namespace"])),
        key=restored_json(result["key"]),
        value=value,
        created_at=created_at,
        updated_at=updated_at,
        score=score,
    )


def _matches(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    """Say whether a namespace begins or ends with the path of a condition; "*" stands for any name."""
    path = condition.path
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", name) for name, wanted in zip(part, path, strict=True))
