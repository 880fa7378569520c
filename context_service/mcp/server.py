"""The MCP server over the tools' RPCs: one for every transport.

It needs only the three RPCs of `Tools` and a caller: a process that speaks stdio calls them over gRPC, and the HTTP
endpoint of the service calls them in its own process.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any, Protocol
from urllib.parse import urlsplit

import mcp_types as types
import orjson
from google.protobuf.message import Message
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from context_service.mcp.answers import ARGUMENTS
from contextkeep.context.v1 import tools_pb2 as pb
from contextkeep.errors import AnswerTooLarge, ContextKeepError, InvalidArgument, NotFound
from contextkeep.version import __version__

_READ, _EXPAND = "wm_read", "window_expand"  # the tools that read a record, and an original, in parts
_RESOURCE_BYTES_MAX = 10 * 2**20
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})  # which all vendors show to models
_RESOURCES_OF_A_PAGE = 50
_INSTRUCTIONS = (
    "Context Service keeps the state of agents: files and JSON documents of an entity (wm_*), messages and events of "
    "the entity graph (history_*), conversations and recall in them (context_*), windows of long conversations "
    "(window_*), memories of the user (memory_*), and searches over everything that you may see (rag_*). Entities are"
    " nodes of a graph and have UUIDs; without an entity_node_id a tool takes the current entity, if there is one. A "
    "long answer has a next_page_token: pass it as page_token to get the next page. Archived records are left out "
    "unless include_archived is true. Kinds of passages are text, data, tool_call, tool_result, file, record and "
    "artifact; roles are user, assistant, system and tool. Repeat a call with the same request_id, a UUID, to retry "
    "it: it takes effect once."
)


class Rpcs(Protocol):
    """Calls the RPCs of `Tools` for one caller."""

    async def call(self, rpc: str, request: Message) -> Any:
        """Call an RPC for this caller, and return its answer.

        Raises:
            ContextKeepError: the error of the RPC.
        """
        ...


class Session(Protocol):
    """The caller of a request, and the entity that it is about."""

    @property
    def rpcs(self) -> Rpcs: ...  # noqa: D102

    @property
    def entity_node_id(self) -> str: ...  # noqa: D102 - empty: there is no current entity

    @property
    def subject_user_id(self) -> str: ...  # noqa: D102 - empty: the key's user, if it has one

    @property
    def read_only(self) -> bool: ...  # noqa: D102


Context = ServerRequestContext[Any, Any]


def mcp_server(session_of: Callable[[Context], Session]) -> Server[Any]:
    """Return an MCP server.

    Args:
        session_of: Returns the session of a request: its caller and its entity.
    """

    async def list_tools(context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """Answer the tools that the session may call."""
        session = session_of(context)
        try:
            answer = await session.rpcs.call("ListTools", pb.ListToolsRequest(read_only=session.read_only))
        except ContextKeepError as error:
            raise _protocol_error(error) from error
        return types.ListToolsResult(tools=[_tool(tool) for tool in answer.tools])

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Call a tool; an error becomes an answer that is marked as an error, so that the model can read it."""
        try:
            session = session_of(context)
            text = await _execute(session, params.name, params.arguments or {})
            document = orjson.loads(text)
            picture = await _picture_in(session, params.name, params.arguments or {}, document)
        except ContextKeepError as error:
            error_text = orjson.dumps({"error": error_fields(error)}).decode()
            return types.CallToolResult(content=[types.TextContent(text=error_text)], is_error=True)
        if picture is None:
            return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=document)
        # The picture or recording follows whole, so no page of it is needed.
        document |= {"content": "", "encoding": picture.type}
        document.pop("next_page_token", None)
        described = types.TextContent(text=orjson.dumps(document).decode())
        return types.CallToolResult(content=[described, picture], structured_content=document)

    async def list_resources(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """Answer a page of the entity's records as MCP resources; an empty list if the session has no entity."""
        session = session_of(context)
        if not session.entity_node_id:
            return types.ListResourcesResult(resources=[])
        request = pb.ListResourcesRequest(
            entity_node_id=session.entity_node_id,
            page_size=_RESOURCES_OF_A_PAGE,
            page_token=(params and params.cursor) or "",
        )
        try:
            answer = await session.rpcs.call("ListResources", request)
        except ContextKeepError as error:
            raise _protocol_error(error) from error
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    uri=resource.uri,
                    name=resource.name,
                    description=resource.description or None,
                    mime_type=resource.content_type or None,
                    size=resource.size_bytes,
                )
                for resource in answer.resources
            ],
            next_cursor=answer.next_page_token or None,
        )

    async def list_templates(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Answer the template of the URIs of records."""
        template = types.ResourceTemplate(
            name="working memory record",
            uri_template="wm://{working_memory_id}",
            description="The whole content of a record, up to 10 MiB. wm_read reads a longer one in parts.",
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """Answer the whole content of a record, as text or as base64."""
        try:
            record_id = _record_of(params.uri)
            record, content = await _whole(session_of(context), record_id)
        except ContextKeepError as error:
            raise _protocol_error(error) from error
        mime_type = record.get("content_type")
        text = _text_of(content)
        contents: types.TextResourceContents | types.BlobResourceContents = (
            types.BlobResourceContents(uri=params.uri, mime_type=mime_type, blob=b64encode(content).decode())
            if text is None
            else types.TextResourceContents(uri=params.uri, mime_type=mime_type, text=text)
        )
        return types.ReadResourceResult(contents=[contents])

    return Server(
        "context-service",
        version=__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


async def _execute(session: Session, name: str, arguments: dict[str, Any]) -> str:
    """Call the tool for the session's caller, and return its result as JSON text.

    Raises:
        InvalidArgument: the arguments cannot be written as JSON in UTF-8.
    """
    try:
        arguments_json = orjson.dumps(arguments).decode()
    except (TypeError, ValueError):  # a lone surrogate, or a number above 64 bits
        raise InvalidArgument(
            "the arguments must be JSON in UTF-8, with integers of at most 64 bits", field="arguments"
        ) from None
    request = pb.ExecuteToolRequest(
        tool_name=name,
        arguments_json=arguments_json,
        entity_node_id=session.entity_node_id,
        read_only=session.read_only,
        subject_user_id=session.subject_user_id,
    )
    answer = await session.rpcs.call("ExecuteTool", request)
    text: str = answer.result_json
    return text


def _tool(tool: pb.Tool) -> types.Tool:
    """Return a tool as MCP lists it, with the schemas of its arguments and answers."""
    return types.Tool(
        name=tool.tool_name,
        description=tool.description,
        input_schema=orjson.loads(tool.input_schema_json),
        output_schema=orjson.loads(tool.output_schema_json),
        annotations=_annotations(tool),
    )


def _annotations(tool: pb.Tool) -> types.ToolAnnotations:
    """Return only hints that differ from the protocol's defaults: each hint costs a model's tokens in every call."""
    if tool.read_only:
        return types.ToolAnnotations(read_only_hint=True)
    return types.ToolAnnotations(
        destructive_hint=None if tool.destructive else False, idempotent_hint=tool.idempotent or None
    )


def _record_of(uri: str) -> str:
    """Return the record that a URI names.

    Raises:
        InvalidArgument: the URI is not that of a record.
    """
    try:
        parts = urlsplit(uri)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme != "wm" or parts.path or parts.query or not parts.netloc:
        raise InvalidArgument("uri must be wm://{working_memory_id}", field="uri")
    return parts.netloc


async def _whole(session: Session, record_id: str) -> tuple[dict[str, Any], bytes]:
    """Return a record and its whole content, which the tool `wm_read` gives in parts.

    Raises:
        AnswerTooLarge: the content has more than `_RESOURCE_BYTES_MAX` bytes.
        ContextKeepError: those of the tool.
    """
    arguments: dict[str, Any] = {"working_memory_id": record_id, "bytes_max": 2**31}
    content = bytearray()
    while True:
        answer = orjson.loads(await _execute(session, _READ, arguments))
        size_bytes = answer["record"].get("size_bytes", 0)
        if size_bytes > _RESOURCE_BYTES_MAX:
            raise AnswerTooLarge(
                f"the record has {size_bytes:,} bytes, and a resource may have {_RESOURCE_BYTES_MAX:,}: call the tool "
                f"{_READ}, which reads it in parts",
                use=_READ,
                size_bytes=size_bytes,
                size_bytes_max=_RESOURCE_BYTES_MAX,
            )
        part = answer["content"]
        content += part.encode() if answer["encoding"] == "utf-8" else b64decode(part)
        if not (token := answer.get("next_page_token")):
            return answer["record"], bytes(content)
        arguments["page_token"] = token


def _text_of(content: bytes) -> str | None:
    """Return a content as text; None if it is none."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


async def _picture_in(
    session: Session, name: str, arguments: dict[str, Any], answer: dict[str, Any]
) -> types.ImageContent | types.AudioContent | None:
    """Return the picture or recording that a tool began to read, so that a model sees it; None for other answers.

    Raises:
        ContextKeepError: those of the tool.
    """
    if name not in (_READ, _EXPAND) or "size_bytes" not in answer.get("record", answer):
        return None
    described = answer.get("record", answer)
    media_type = described.get("content_type") or described.get("media_type", "")
    is_audio = media_type.startswith("audio/")
    if not (is_audio or media_type in _PICTURES) or described["size_bytes"] > _RESOURCE_BYTES_MAX:
        return None
    if arguments.get("page_token") or answer.get("encoding") == "utf-8":
        return None
    if name == _READ:
        _, content = await _whole(session, described["working_memory_id"])
    else:
        content = await _expanded(session, arguments, answer["next_page_token"])
    data = b64encode(content).decode()
    if is_audio:
        return types.AudioContent(data=data, mime_type=media_type)
    return types.ImageContent(data=data, mime_type=media_type)


async def _expanded(session: Session, arguments: dict[str, Any], token: str) -> bytes:
    """Return all bytes of a file that `window_expand` described; `token` is that of its first page."""
    content = bytearray()
    while token:
        answer = orjson.loads(await _execute(session, _EXPAND, {**arguments, "page_token": token}))
        content += b64decode(answer["content"])
        token = answer.get("next_page_token", "")
    return bytes(content)


def error_fields(error: ContextKeepError) -> dict[str, Any]:
    """Return an error with the same fields as in the details of a gRPC error."""
    fields: dict[str, Any] = {"reason": error.reason, "message": error.message}
    if error.metadata:
        fields["metadata"] = error.metadata
    if error.violations:  # name the argument without the RPC's field, which the model does not know
        fields["violations"] = [
            {"field": violation.field.removeprefix(f"{ARGUMENTS}."), "description": violation.description}
            for violation in error.violations
        ]
    if error.retry_after_s is not None:
        fields["retry_after_s"] = error.retry_after_s
    return fields


def _protocol_error(error: ContextKeepError) -> MCPError:
    code = types.INVALID_PARAMS if isinstance(error, InvalidArgument | NotFound) else types.INTERNAL_ERROR
    return MCPError(code, error.message, error_fields(error))
