"""The calls of archives that are one RPC each, made by `make proto`."""

from __future__ import annotations


from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import transfer_pb2 as transfer_pb
from contextkeep.values.transfer import ImportedArchive


class Archives(Noun):
    """The calls of `client.archives` that are one RPC each."""

    async def get_import(self, import_id: Id, *, timeout_s: float | None = None) -> ImportedArchive:
        """Read the progress of an import, and its conflicts.

        The service keeps this for 30 days. It gives up an import that did not continue for 7 days, and removes the rows
        of an unfinished context.

        Args:
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            ImportNotFound: No import of the tenant has this id, or it ended too long ago.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
        """
        request = transfer_pb.GetImportRequest(import_id=messages.to_id(import_id))
        answer: transfer_pb.GetImportResponse = await self._call("GetImport", request, timeout_s=timeout_s)
        return ImportedArchive.from_proto(answer.imported)
