# Generated from aio/_gen/definitions.py by tools/make_sync.py: change that file and run `make sync-client`.
"""The calls of definitions that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import Any, Unpack

from contextkeep.client import _messages as messages
from contextkeep.client._messages import ByExternalId, Id
from contextkeep.client.sync.client import Noun
from contextkeep.context.v1 import definitions_pb2 as definitions_pb
from contextkeep.values import Definition, DefinitionState, TriedDefinition


class Definitions(Noun):
    """Definitions of compiled pages."""

    def put(
        self, name: str, rules: Mapping[str, Any], *, request_id: Id | None = None, timeout_s: float | None = None
    ) -> Definition:
        """Write the next version of a definition as a draft.

        A draft changes no page until it is approved. If the rules equal those of the newest version, the call writes no
        new version, unless that version is retired. The service keeps the newest 50 versions and the approved one.

        The service compiles the rules as it compiles those of a mapping, within the same limits. Definitions belong to
        the tenant: a bound key cannot write them; it sees those without an app and those of its apps.

        Args:
            name: 1 to 128 characters.
            rules: The rules. docs/knowledge.md explains them by example.
            request_id: A UUID. A repeat with the same id changes nothing.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: the violation names the field; for an expression, the metadata have `rule`, `line` and
                `column`.
            LimitExceeded: limit `definitions`: 200 per tenant.
            PermissionDenied: the key is bound.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = definitions_pb.PutDefinitionRequest(
            name=name, rules=messages.definition_rules(rules), request_id=messages.new_request_id(request_id)
        )
        answer: definitions_pb.PutDefinitionResponse = self._call("PutDefinition", request, timeout_s=timeout_s)
        return Definition.from_proto(answer.definition)

    def approve(
        self, name: str, version: int, *, request_id: Id | None = None, timeout_s: float | None = None
    ) -> Definition:
        """Approve a version of a definition: from the next compile on, pages use it.

        The version that was approved before is retired. Its pages stay, and are marked as out of date, until they are
        compiled again. Needs the scope `admin`, in the Entity Service too: the first approval starts the change log of
        the tenant's graphs there (`changes.start`).

        Args:
            name: The definition.
            version: The version to approve. Required.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            DefinitionNotFound: No definition that the caller may see has this name or version, or no version of it is
                approved.
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            PermissionDenied: the scope is missing; the key is bound.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
            Unavailable: The service, or a dependency of it, does not answer.
        """
        request = definitions_pb.ApproveDefinitionRequest(
            name=name, version=version, request_id=messages.new_request_id(request_id)
        )
        answer: definitions_pb.ApproveDefinitionResponse = self._call("ApproveDefinition", request, timeout_s=timeout_s)
        return Definition.from_proto(answer.definition)

    def retire(
        self, name: str, version: int = 0, *, request_id: Id | None = None, timeout_s: float | None = None
    ) -> Definition:
        """Retire a version of a definition.

        If the version was approved, no search finds the pages of the definition any more. Needs the scope `admin`.

        Args:
            name: The definition.
            version: The version to retire. 0: the approved one.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            DefinitionNotFound: there is no such version, or the call names no version and none is approved.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = definitions_pb.RetireDefinitionRequest(
            name=name, version=version, request_id=messages.new_request_id(request_id)
        )
        answer: definitions_pb.RetireDefinitionResponse = self._call("RetireDefinition", request, timeout_s=timeout_s)
        return Definition.from_proto(answer.definition)

    def get(self, name: str, version: int = 0, *, timeout_s: float | None = None) -> Definition:
        """Read a version of a definition.

        Args:
            name: The definition.
            version: The version to read. 0: the approved one, else the newest.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            DefinitionNotFound: No definition that the caller may see has this name or version, or no version of it is
                approved.
        """
        request = definitions_pb.GetDefinitionRequest(name=name, version=version)
        answer: definitions_pb.GetDefinitionResponse = self._call("GetDefinition", request, timeout_s=timeout_s)
        return Definition.from_proto(answer.definition)

    def list(
        self, *, states: Iterable[DefinitionState] = (), page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[Definition, None, None]:
        """List the versions of definitions.

        Args:
            states: Only versions in one of these states. Empty: all.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
        """
        request = definitions_pb.ListDefinitionsRequest(
            states=messages.choices_of("states", states, definitions_pb.DefinitionState), page_size=page_size
        )
        while True:
            page: definitions_pb.ListDefinitionsResponse = self._call("ListDefinitions", request, timeout_s=timeout_s)
            for item in page.definitions:
                yield Definition.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def test(
        self,
        rules: Mapping[str, Any],
        node_id: Id | None = None,
        *,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> TriedDefinition:
        """Compile and answer the page of one node by rules that need not be stored.

        It sees the graph as the caller does. It stores nothing.

        Args:
            rules: The rules, as in `definitions.put`.
            node_id: The node whose page to compile.
            timeout_s: Deadline in seconds. None means the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            InvalidArgument: the violation names the field; for an expression, the metadata have `rule`, `line` and
                `column`.
            LimitExceeded: A value exceeds a limit.
            NodeNotFound: No node that the caller may see has this id, external id or name.
            AnswerTooLarge: The response does not fit into one message.
            Unavailable: The service, or a dependency of it, does not answer.
        """
        request = definitions_pb.TestDefinitionRequest(
            rules=messages.definition_rules(rules), node_id=messages.to_id(node_id), **named
        )
        answer: definitions_pb.TestDefinitionResponse = self._call("TestDefinition", request, timeout_s=timeout_s)
        return TriedDefinition.from_proto(answer)
