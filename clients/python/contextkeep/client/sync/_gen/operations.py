# Generated from aio/_gen/operations.py by tools/make_sync.py: change that file and run `make sync-client`.
"""The calls of operations that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import Generator

from contextkeep.client.sync.client import Noun
from contextkeep.context.v1 import administration_pb2 as administration_pb
from contextkeep.values import AdministrativeCall, OwedWork, RetriedWork, Usage
from contextkeep.values.administration import Tenant


class Operations(Noun):
    """The calls of `client.operations` that are one RPC each."""

    def list_administrative_calls(
        self, *, call_id: str = "", page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[AdministrativeCall, None, None]:
        """Lists the calls of administrators, the newest first: who, what, from where, and what came of it.

        These are the calls of both services that need the scope `admin` and changed something, or tried to. They are
        kept for 400 days. No content and no key is in them. A caller that is bound sees those of callers that are bound
        to the same. The log has a line for each, too, and for every other call that writes.

        Args:
            call_id: Only the call of this id. Empty: all.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            InvalidArgument: A field is malformed; `violations` name it.
            InvalidPageToken: The page token is malformed, or belongs to another query.
        """
        request = administration_pb.ListAdministrativeCallsRequest(call_id=call_id, page_size=page_size)
        while True:
            page: administration_pb.ListAdministrativeCallsResponse = self._call(
                "ListAdministrativeCalls", request, timeout_s=timeout_s
            )
            for one in page.calls:
                yield AdministrativeCall.from_proto(one)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def get_usage(self, *, timeout_s: float | None = None) -> Usage:
        """Answers how much the tenant stores, and how much it may store.

        Of the limits it answers those that hold, whether they are the tenant's own or the settings'.

        Args:
            timeout_s: Deadline; None: the client's.
        """
        request = administration_pb.GetUsageRequest()
        answer: administration_pb.GetUsageResponse = self._call("GetUsage", request, timeout_s=timeout_s)
        return Usage.from_proto(answer)

    def list_tenants(self, *, page_size: int = 0, timeout_s: float | None = None) -> Generator[Tenant, None, None]:
        """Lists all tenants by id, of all databases, with where each lives, what it stores and the limits of its own.

        Tenants of a database that does not answer are in the list, and said to be away.

        Args:
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            PermissionDenied: The key lacks the scope (`scope` in the metadata), is bound to something else, or is
                another user's.
            InvalidArgument: A field is malformed; `violations` name it.
            InvalidPageToken: The page token is malformed, or belongs to another query.
        """
        request = administration_pb.ListTenantsRequest(page_size=page_size)
        while True:
            page: administration_pb.ListTenantsResponse = self._call("ListTenants", request, timeout_s=timeout_s)
            for one in page.tenants:
                yield Tenant.from_proto(one)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def list_background_work(self, *, timeout_s: float | None = None) -> OwedWork:
        """Lists the work that waits in the background, by kind and database, of all tenants together.

        It makes vectors, reads files, and removes bytes and contexts. What failed for good is said where it belongs,
        such as `text_error` of a record.

        Args:
            timeout_s: Deadline; None: the client's.
        """
        request = administration_pb.ListBackgroundWorkRequest()
        answer: administration_pb.ListBackgroundWorkResponse = self._call(
            "ListBackgroundWork", request, timeout_s=timeout_s
        )
        return OwedWork.from_proto(answer)

    def retry_background_work(self, kind: str, *, timeout_s: float | None = None) -> RetriedWork:
        """Retries the failed work of a kind now, up to 10,000 of each database.

        Otherwise each retry waits longer than the one before. Again is harmless.

        Args:
            timeout_s: Deadline; None: the client's.

        Raises:
            PermissionDenied: The key lacks the scope (`scope` in the metadata), is bound to something else, or is
                another user's.
            InvalidArgument: A field is malformed; `violations` name it.
        """
        request = administration_pb.RetryBackgroundWorkRequest(kind=kind)
        answer: administration_pb.RetryBackgroundWorkResponse = self._call(
            "RetryBackgroundWork", request, timeout_s=timeout_s
        )
        return RetriedWork.from_proto(answer)
