"""The Retrieve API of Amazon Bedrock on a real socket, which checks who signed; and does what a test says."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.fakes.mcp_server import Behave

KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY"


def result(text: str, *, uri: str = "s3://papers/prices.pdf", score: float = 0.5, **metadata: Any) -> dict[str, Any]:
    location = {"type": "S3", "s3Location": {"uri": uri}}
    return {"content": {"type": "TEXT", "text": text}, "location": location, "score": score, "metadata": metadata}


@dataclass
class FakeBedrock:
    """What bases find, by their ids, and what they were asked."""

    url: str = ""
    region: str = "eu-central-1"
    results: dict[str, list[Any]] = field(default_factory=dict)
    behaves: dict[str, Behave] = field(default_factory=dict)  # instead
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)  # whose connection was closed by who asked, while it was silent

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
            body = await reader.readexactly(int(headers["content-length"]))
            method, path, _ = first.split(" ")
            base = path.split("/")[2]
            assert (method, path) == ("POST", f"/knowledgebases/{base}/retrieve")
            self.asked.append((base, json.loads(body)))
            if behave := self.behaves.get(base):
                await behave(reader, writer)
            elif not self.is_signed(path, headers, body):
                await answering(403, "AccessDeniedException")(reader, writer)
            elif base not in self.results:
                await answering(404, "ResourceNotFoundException")(reader, writer)
            else:
                await answering(200, body={"retrievalResults": self.results[base]})(reader, writer)
        writer.close()

    def is_signed(self, path: str, headers: dict[str, str], body: bytes) -> bool:
        """Say whether a request has the signature that AWS's own library makes of it."""
        signed = headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
        request = AWSRequest("POST", self.url + path, {name: headers[name] for name in signed if name != "host"}, body)
        request.context["timestamp"] = headers["x-amz-date"]
        auth = SigV4Auth(Credentials(KEY, SECRET), "bedrock", self.region)
        signature = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
        return f"Credential={KEY}/" in headers["authorization"] and headers["authorization"].endswith(signature)

    async def silent(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer nothing, and note when who asks goes away."""
        await reader.read(1)
        self.ended.append("closed")


def answering(status: int, kind: str = "", *, body: Any = None, headers: str = "") -> Behave:
    """Return who answers this, as AWS says it."""
    content = (
        body if isinstance(body, bytes) else json.dumps({"message": f"{SECRET} no"} if body is None else body).encode()
    )

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        kind_line = f"x-amzn-ErrorType: {kind}:http://internal.amazon.com/coral/\r\n" if kind else ""
        head = f"HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\ncontent-length: {len(content)}\r\n"
        writer.write(f"{head}{kind_line}{headers}\r\n".encode() + content)
        await writer.drain()

    return behave


@asynccontextmanager
async def fake_bedrock(
    *, host: str = "127.0.0.1", name: Callable[[int], str] | None = None
) -> AsyncIterator[FakeBedrock]:
    """Run one for the block, in this loop."""
    fake = FakeBedrock()
    server = await asyncio.start_server(fake.serve, host, 0)
    port = server.sockets[0].getsockname()[1]
    fake.url = name(port) if name else f"http://{host}:{port}"
    async with server:
        yield fake
