"""LangGraph's long-term store: each item is a record of working memory, which searches find by words and by meaning."""

from __future__ import annotations

import asyncio
import contextlib
import json
import operator
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

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

from contextkeep.client.sync.context import ContextClient
from contextkeep.errors import InvalidArgument, NotFound, RecordExists, RecordNotFound, VersionConflict
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
                    key=result["key"],
                    namespace=tuple(result["namespace"]),
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
            "namespace": list(op.namespace),
            "level": {str(place): name for place, name in enumerate(op.namespace)},
            "path": json.dumps(op.namespace),
            "key": op.key,
        }
        if _fits_metadata(value):
            values["value"] = value
        else:
            values["value_at"] = new_id()
            self._client.blobs.upload(
                json.dumps(value).encode(),
                name="value",
                memory_type=VALUE_TYPE,
                content_type="application/octet-stream",  # so that searches do not read it: only `content_text` counts
                working_memory_id=values["value_at"],
            )
        text = self._text(op, value)
        name = op.key[:400] or "(empty)"
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
        """Return a page of the items that match a query and a filter; without a query, the newest first."""
        records: Iterator[tuple[Record | Mapping[str, Any], float | None]]
        if op.query:
            records = ((record, score) for record, score in self._hits(op.query, _within(op.namespace_prefix)))
        else:
            records = ((row, None) for row in self._rows(_within(op.namespace_prefix)))
        items: list[SearchItem] = []
        skipped = 0
        for item, score in records:
            value = self._value(item.metadata[_KEY] if isinstance(item, Record) else item["metadata"][_KEY])
            if value is None or not _fits(value, op.filter or {}):
                continue
            if skipped < op.offset:
                skipped += 1
                continue
            if len(items) >= op.limit:
                break
            items.append(_item(item, value, score))
        return items

    def _hits(self, query: str, where: Mapping[str, Any]) -> Iterator[tuple[Record, float]]:
        """Yield the records that a query finds, each with its score, the best first.

        A search by any of the words and, if there is an embedder, a search by meaning are merged by rank.
        """
        words = _any_of(query)
        result: list[Iterable[SearchHit]] = []
        if words:
            result.append(self._client.records.search(words, where=where, memory_types=[MEMORY_TYPE], limit=_HITS))
        try:
            result.append(
                self._client.records.search(
                    _readable(query)[:_QUERY_CHARACTERS_MAX],
                    mode="vector",
                    where=where,
                    memory_types=[MEMORY_TYPE],
                    limit=_HITS,
                )
            )
        except InvalidArgument as error:  # the service has no embedder, if the error is about the field `embedding`
            if [violation.field for violation in error.violations] != ["embedding"]:
                raise
        scores: dict[str, float] = {}
        records: dict[str, Record] = {}
        for hits in result:
            for place, hit in enumerate(hits, 1):
                record_id = hit.record.working_memory_id
                records[record_id] = hit.record
                scores[record_id] = scores.get(record_id, 0.0) + 1 / (_FUSED_AT + place)
        for record_id in sorted(scores, key=lambda row: -scores[row]):
            yield records[record_id], scores[record_id]

    def _rows(self, where: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Yield the rows of items, the newest first."""
        # Rows at the border of two pages may have the same time. So a page begins with the time of the last row, and
        # rows that were on the page before are skipped.
        seen: set[str] = set()
        upto: dict[str, Any] = {}
        while True:
            rows = list(
                self._client.records.query(_COLUMNS, where={**where, **upto}, order_by=["-updated_at"], limit=_ROWS)
            )
            fresh = [row for row in rows if row["working_memory_id"] not in seen]
            yield from fresh
            if len(rows) < _ROWS or not fresh:
                return
            seen = {row["working_memory_id"] for row in rows}
            upto = {"updated_at": {"$lte": rows[-1]["updated_at"]}}

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        """Return a page of the namespaces that match the conditions, each cut to `max_depth` names."""
        conditions = op.match_conditions or ()
        where: dict[str, Any] = {"memory_type": MEMORY_TYPE}
        for condition in conditions:
            if condition.match_type == "prefix":
                where |= {f"metadata.{_KEY}.level.{n}": name for n, name in enumerate(condition.path) if name != "*"}
        path = f"metadata.{_KEY}.path"
        rows = self._client.records.query([path], where=where, group_by=[path], order_by=[path], limit=_ROWS)
        every = [tuple(json.loads(row[path])) for row in rows]
        parameters = {
            item[: op.max_depth] for item in every if all(_matches(item, condition) for condition in conditions)
        }
        return sorted(parameters)[op.offset : op.offset + op.limit]


def _id(namespace: Sequence[str], key: str) -> str:
    return str(uuid.uuid5(_IDS, json.dumps([list(namespace), key])))


def _within(prefix: Sequence[str]) -> dict[str, Any]:
    """Return the condition for the items of a namespace and of those below it."""
    return {"memory_type": MEMORY_TYPE} | {f"metadata.{_KEY}.level.{place}": name for place, name in enumerate(prefix)}


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
    return text.replace("\0", " ").encode(errors="replace").decode()


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
        namespace=tuple(result["namespace"]),
        key=result["key"],
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


_ORDERED: Mapping[str, Callable[[float, float], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_OPERATORS = ("$eq", "$ne", *_ORDERED)


def _compares(name: str, value: Any, other: Any) -> bool:
    if name in _ORDERED:
        return value is not None and _ORDERED[name](float(value), float(other))
    return bool(value == other) is (name == "$eq")


def _fits(value: Any, wanted: Any) -> bool:
    """Say whether a value matches a filter, which may have LangGraph's operators such as `$gt`.

    Raises:
        ValueError: the filter has an unknown operator.
    """
    if not isinstance(wanted, dict):
        return bool(value == wanted)
    if any(name.startswith("$") for name in wanted):
        if unknown := wanted.keys() - set(_OPERATORS):
            raise ValueError(f"{', '.join(sorted(unknown))}: of the operators there are {', '.join(_OPERATORS)}")
        return all(_compares(name, value, other) for name, other in wanted.items())
    return isinstance(value, dict) and all(_fits(value.get(name), other) for name, other in wanted.items())
