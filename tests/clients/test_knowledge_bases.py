"""Documents by the Python client: where they come from."""

from __future__ import annotations

import pytest

from contextkeep import ContextClient, new_id
from contextkeep.errors import InvalidArgument


def test_a_document_is_not_bytes_and_a_record():
    with ContextClient("127.0.0.1:1") as context, pytest.raises(InvalidArgument, match="not both"):
        context.knowledge_bases.add_document("ferries", b"bytes", working_memory_id=new_id())


def test_states_that_there_are_not_are_refused():
    with ContextClient("127.0.0.1:1") as context, pytest.raises(InvalidArgument, match="states"):
        next(context.knowledge_bases.list_documents("ferries", states=["gone"]))
