"""A client of the Connect protocol, as little as tests need of it: a message in, a message or the error out."""

from __future__ import annotations

import base64
from typing import Any

import grpc
import httpx2
from google.protobuf.json_format import MessageToJson, Parse
from google.protobuf.message import Message
from google.rpc.status_pb2 import Status

from contextkeep.errors import ContextKeepError
from contextkeep.status import error_of
from tests.rpcs import Rpc

CODES = {code.name.lower(): code for code in grpc.StatusCode} | {"canceled": grpc.StatusCode.CANCELLED}


async def over_http(http: httpx2.AsyncClient, port: int, rpc: Rpc, request: Message, key: str) -> Any:
    """Return the answer of a unary call in JSON; in protobuf, if it is larger than JSON may be.

    Raises:
        ContextKeepError: what the service says.
    """
    text = MessageToJson(request, indent=None, ensure_ascii=False).encode()
    in_json = len(text) <= 1024 * 1024
    answer = await http.post(
        f"http://127.0.0.1:{port}{rpc.path}",
        content=text if in_json else request.SerializeToString(),
        headers={
            "authorization": f"Bearer {key}",
            "content-type": "application/json" if in_json else "application/proto",
        },
    )
    if answer.status_code != 200:
        raise error_in(answer.json())
    return Parse(answer.content, rpc.response()) if in_json else rpc.response.FromString(answer.content)


def error_in(told: dict[str, Any]) -> ContextKeepError:
    """Return the error that the JSON of one stands for."""
    return error_of(CODES[told["code"]], told["message"], status_in(told).SerializeToString())


def status_in(told: dict[str, Any]) -> Status:
    """Return the status that gRPC would have sent for the JSON of an error."""
    status = Status(code=CODES[told["code"]].value[0], message=told["message"])
    for detail in told["details"]:
        value = base64.b64decode(detail["value"] + "=" * (-len(detail["value"]) % 4))
        status.details.add(type_url=f"type.googleapis.com/{detail['type']}", value=value)
    return status
