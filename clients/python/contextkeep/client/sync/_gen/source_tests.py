# Generated from aio/_gen/source_tests.py by tools/make_sync.py: change that file and run `make sync-client`.
"""The calls of source_tests that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import Generator

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.sync.client import Noun
from contextkeep.context.v1 import source_tests_pb2 as source_tests_pb
from contextkeep.values import ComparedTests, SourceTest


class SourceTests(Noun):
    """The calls of `client.source_tests` that are one RPC each."""

    def list(self, *, page_size: int = 0, timeout_s: float | None = None) -> Generator[SourceTest, None, None]:
        """List the stored tests without their answers, newest first.

        Args:
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
        """
        request = source_tests_pb.ListSourceTestsRequest(page_size=page_size)
        while True:
            page: source_tests_pb.ListSourceTestsResponse = self._call("ListSourceTests", request, timeout_s=timeout_s)
            for item in page.tests:
                yield SourceTest.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def get(self, test_id: Id, *, timeout_s: float | None = None) -> SourceTest:
        """Read a test with its answer.

        Args:
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            SourceTestNotFound: No source test has this id, or it was deleted.
        """
        request = source_tests_pb.GetSourceTestRequest(test_id=messages.to_id(test_id))
        answer: source_tests_pb.GetSourceTestResponse = self._call("GetSourceTest", request, timeout_s=timeout_s)
        return SourceTest.from_proto(answer.test)

    def compare(self, test_id: Id, other_test_id: Id, *, timeout_s: float | None = None) -> ComparedTests:
        """Compare two tests: the ranks of their hits, and the status of each provider.

        Args:
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            SourceTestNotFound: No source test has this id, or it was deleted.
        """
        request = source_tests_pb.CompareSourceTestsRequest(
            test_id=messages.to_id(test_id), other_test_id=messages.to_id(other_test_id)
        )
        answer: source_tests_pb.CompareSourceTestsResponse = self._call(
            "CompareSourceTests", request, timeout_s=timeout_s
        )
        return ComparedTests.from_proto(answer)

    def delete(self, test_id: Id, *, timeout_s: float | None = None) -> None:
        """Remove a test.

        Args:
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            SourceTestNotFound: No source test has this id, or it was deleted.
        """
        request = source_tests_pb.DeleteSourceTestRequest(test_id=messages.to_id(test_id))
        self._call("DeleteSourceTest", request, timeout_s=timeout_s)
