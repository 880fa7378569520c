"""Rows that answer a question about records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from contextkeep.context.v1 import working_memory_pb2 as memory_pb
from contextkeep.values.base import Value


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class QueryAnswer(Value):
    """The rows that answer a question about records."""

    rows: list[dict[str, Any]]  # the columns by the names in the request
    has_more: bool = False  # there are more rows than the limit

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def from_proto(cls, answer: memory_pb.QueryWMRecordsResponse) -> QueryAnswer:
        """Return the value of a message."""
        return cls(rows=[json.loads(row) for row in answer.rows_json], has_more=answer.has_more)
