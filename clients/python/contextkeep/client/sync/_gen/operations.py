# Generated from aio/_gen/operations.py by tools/make_sync.py: change that file and run `make sync-client`.
"""The calls of operations that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import Generator

from contextkeep.client.sync.client import Noun
from contextkeep.context.v1 import administration_pb2 as administration_pb
from contextkeep.values import AdministrativeCall, PendingWork, RetriedWork, Usage
from contextkeep.values.administration import Tenant


class Operations(Noun):
    """The calls of `client.operations` that are one RPC each."""

    def list_administrative_calls(
        self, *, call_id: str = "", page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[AdministrativeCall, None, None]:
        """List the calls of administrators, newest first: the caller, the method, the address and the result.

        These are the calls of both services that need the scope `admin` and that changed something, or tried to. The
        service keeps them for 400 days. They contain no content and no keys. A bound caller sees the calls of callers
        with the same bounds. The log also has a line for each of them, and for every other call that writes.

        Args:
            call_id: Only the call with this id. Empty: all.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
        """
        request = administration_pb.ListAdministrativeCallsRequest(call_id=call_id, page_size=page_size)
        while True:
            page: administration_pb.ListAdministrativeCallsResponse = self._call(
                "ListAdministrativeCalls", request, timeout_s=timeout_s
            )
            for item in page.calls:
                yield AdministrativeCall.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def get_usage(self, *, timeout_s: float | None = None) -> Usage:
        """Return how much the tenant stores, and its limits.

        The limits are those in effect: the tenant's own, or else those of the settings.

        Args:
            timeout_s: Deadline in seconds. None means the client's.
        """
        request = administration_pb.GetUsageRequest()
        answer: administration_pb.GetUsageResponse = self._call("GetUsage", request, timeout_s=timeout_s)
        return Usage.from_proto(answer)

    def list_tenants(self, *, page_size: int = 0, timeout_s: float | None = None) -> Generator[Tenant, None, None]:
        """List all tenants of all databases by id, with their database, usage and own limits.

        If a database does not answer, its tenants are still in the list, marked with `is_away`.

        Args:
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
        """
        request = administration_pb.ListTenantsRequest(page_size=page_size)
        while True:
            page: administration_pb.ListTenantsResponse = self._call("ListTenants", request, timeout_s=timeout_s)
            for item in page.tenants:
                yield Tenant.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def list_background_work(self, *, timeout_s: float | None = None) -> PendingWork:
        """List the background work that waits, by kind and database, for all tenants together.

        Background work makes embeddings, parses files, and deletes bytes and contexts. Work that failed for good is
        shown at its object, such as in `text_error` of a record.

        Args:
            timeout_s: Deadline in seconds. None means the client's.
        """
        request = administration_pb.ListBackgroundWorkRequest()
        answer: administration_pb.ListBackgroundWorkResponse = self._call(
            "ListBackgroundWork", request, timeout_s=timeout_s
        )
        return PendingWork.from_proto(answer)

    def retry_background_work(self, kind: str, *, timeout_s: float | None = None) -> RetriedWork:
        """Retry the failed work of a kind now, up to 10,000 items per database.

        Without this call, each retry waits longer than the one before. A repeat is harmless.

        Args:
            kind: The kind of work to retry, as `operations.list_background_work` names it.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
        """
        request = administration_pb.RetryBackgroundWorkRequest(kind=kind)
        answer: administration_pb.RetryBackgroundWorkResponse = self._call(
            "RetryBackgroundWork", request, timeout_s=timeout_s
        )
        return RetriedWork.from_proto(answer)
