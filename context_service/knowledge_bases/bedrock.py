"""Searches knowledge bases of Amazon Bedrock by its Retrieve API. No other file uses AWS's library for this.

The library finds the service's credentials and signs requests. The requests are sent as to any external server: the
address is checked, the size of the answer is bounded, and a cancelled caller cancels the request.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from context_service.knowledge_bases.model import Bedrock
from context_service.settings import Settings
from contextkeep.errors import AddressRefused, KnowledgeBaseFailed, LimitExceeded, ProviderNotConfigured
from service_runtime.imports.extras import install
from service_runtime.inputs.documents import beside_the_loop, check_containers
from service_runtime.network.destinations import Destinations
from service_runtime.network.pinned import Origin, ReadTurns, Response, Watch, broken
from service_runtime.network.pinned import client as pinned_client

if TYPE_CHECKING:
    from botocore.credentials import Credentials
    from botocore.session import Session

ANSWER_BYTES_MAX = 4 * 1024 * 1024
_READING = 2  # reading an answer takes this many times as long as parsing it (for `beside_the_loop`)
QUESTION_CHARS_MAX = 1_000  # limit of the API; a longer question is cut
_RESULTS_MAX = 100  # limit of the API
_OK, _REDIRECT, _HTTP_ERROR = 200, 300, 400
_TLS_PORT, _PORT = 443, 80
_SAID = {
    400: "it rejects the question as malformed",
    403: "it refuses the service's credentials",
    404: "it has no such knowledge base",
    413: "it rejects the question as too large",
    429: "it refuses further requests for now",
}
_KIND = re.compile(r"[A-Za-z]{1,60}")
_PAGE = "x-amz-bedrock-kb-document-page-number"


@dataclass(frozen=True, slots=True, kw_only=True)
class BedrockPassage:
    """A passage that Amazon Bedrock returned."""

    passage_id: str  # the same for the same text of the same document
    text: str
    uri: str  # the address of the document; empty if the API does not return it
    page: int  # the number of the page; 0 if the API does not return it
    score: float | None
    metadata: Mapping[str, Any] = field(default_factory=dict)  # the metadata of the document, without Amazon's entries


class BedrockClient:
    """Searches knowledge bases of Amazon Bedrock with the service's credentials.

    Args:
        session: The session of AWS's library, which finds the credentials.
        destinations: The check of the addresses to which requests may go.
        endpoint: The URL of the API; empty takes Amazon's own for the region.
    """

    def __init__(self, session: Session, destinations: Destinations, *, endpoint: str) -> None:
        self._session = session
        self._destinations = destinations
        self._steps = ReadTurns()
        self._endpoint = endpoint.rstrip("/")
        self._tls: ssl.SSLContext | None = None

    async def retrieve(self, base: Bedrock, question: str, *, limit: int) -> list[BedrockPassage]:
        """Return the passages that a base finds for a question, the best first.

        Raises:
            AddressRefused: the API has an address that the service may not call.
            KnowledgeBaseFailed: the service has no credentials, or the API does not answer as expected.
        """
        endpoint = self._endpoint or _endpoint_of(base.region)
        scheme, _, rest = endpoint.partition("://")
        host, port = _host_and_port(rest, scheme)
        origin = Origin(scheme=scheme, host=host, port=port)
        try:
            destination = await self._destinations.checked(host, port)
        except AddressRefused as error:
            raise AddressRefused(error.message) from None
        except (OSError, UnicodeError):
            raise KnowledgeBaseFailed(
                "the host name of its Retrieve API cannot be resolved; check the region or the endpoint"
            ) from None
        if scheme != "https" and not destination.is_listed:
            raise KnowledgeBaseFailed("the Retrieve API has a public address, so its URL must begin with https://")
        body = orjson.dumps(
            {
                "retrievalQuery": {"text": question[:QUESTION_CHARS_MAX]},
                "retrievalConfiguration": {"vectorSearchConfiguration": {"numberOfResults": min(limit, _RESULTS_MAX)}},
            }
        )
        url = f"{endpoint}/knowledgebases/{base.bedrock_id}/retrieve"
        headers = await asyncio.to_thread(self._sign, url, body, base.region)
        if self._tls is None and scheme == "https":
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        watch = Watch(answer_bytes_max=ANSWER_BYTES_MAX, talk_bytes_max=ANSWER_BYTES_MAX)
        check = partial(_check, watch=watch)
        try:
            async with pinned_client(
                origin, destination, watch, tls=self._tls, headers=headers, check=check, steps=self._steps
            ) as http:
                answer = (await http.post(url, content=body)).content
        except Exception as error:
            # Without the cause, which may contain any text of the answer.
            said = watch.failure or broken(error) or "the request failed"
            raise KnowledgeBaseFailed(f"the Retrieve API failed: {said}") from None
        try:
            check_containers("answer", answer.decode(errors="replace"))
            return await beside_the_loop(_READING * len(answer), lambda: _passages(orjson.loads(answer)))
        except (ValueError, TypeError, LimitExceeded):
            raise KnowledgeBaseFailed(
                "the Retrieve API failed: its answer is not valid JSON of the expected form"
            ) from None

    def _sign(self, url: str, body: bytes, region: str) -> dict[str, str]:
        """Return the signed headers of a request.

        This may block: to find or renew credentials, the library may ask services of the machine.
        """
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.exceptions import BotoCoreError

        try:
            found: Credentials | None = self._session.get_credentials()
            frozen = found.get_frozen_credentials() if found else None
        except BotoCoreError:  # its message is dropped, because it may name files and roles
            frozen = None
        if frozen is None:
            raise KnowledgeBaseFailed("the service has no AWS credentials, or cannot renew them")
        request = AWSRequest(method="POST", url=url, data=body, headers={"content-type": "application/json"})
        SigV4Auth(frozen, "bedrock", region).add_auth(request)
        return dict(request.headers.items())


def client_of(settings: Settings, destinations: Destinations) -> BedrockClient:
    """Return the client for the settings.

    Raises:
        ProviderNotConfigured: AWS's library is not installed, or a key has no secret.
    """
    try:
        import httpx2  # noqa: F401
        from botocore.session import Session
    except ImportError:
        raise ProviderNotConfigured(f"BEDROCK_KNOWLEDGE_BASES needs a library: {install('bedrock')}") from None
    session = Session()
    key, secret = settings.aws_access_key_id, settings.aws_secret_access_key.get_secret_value()
    if bool(key) != bool(secret):
        raise ProviderNotConfigured("set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or neither")
    if key:
        session.set_credentials(key, secret, settings.aws_session_token.get_secret_value() or None)
    return BedrockClient(session, destinations, endpoint=settings.bedrock_endpoint)


def _endpoint_of(region: str) -> str:
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    return f"https://bedrock-agent-runtime.{region}.{domain}"


def _host_and_port(rest: str, scheme: str) -> tuple[str, int]:
    host, _, port = rest.partition("/")[0].partition(":")
    return host, int(port) if port else (_TLS_PORT if scheme == "https" else _PORT)


def _check(response: Response, watch: Watch) -> None:
    """Refuse a response that is not a success; the error has the status and the type that AWS names, but no text.

    Raises:
        NotToBeRead: the response is not a success.
    """
    status = response.status_code
    if status == _OK:
        return
    if _REDIRECT <= status < _HTTP_ERROR:
        raise watch.failed(f"it redirects (HTTP {status}), and redirects are not followed")
    said = _SAID.get(status, f"it answers HTTP {status}")
    kind = response.headers.get("x-amzn-errortype", "").partition(":")[0]
    raise watch.failed(f"{said} ({kind})" if _KIND.fullmatch(kind) else said)


def _passages(answer: Any) -> list[BedrockPassage]:
    """Return the passages of an answer of Retrieve; images, sounds and rows have no text, and are left out.

    Raises:
        TypeError: the answer has another form.
    """
    results = _mapping(answer).get("retrievalResults")
    if not isinstance(results, list):
        raise TypeError
    return [passage for passage in map(_passage, results[:_RESULTS_MAX]) if passage is not None]


def _passage(result: Any) -> BedrockPassage | None:
    """Return the passage of one result; None if it has no text."""
    if not isinstance(result, Mapping):
        return None
    content, location = (_mapping(result.get(name)) for name in ("content", "location"))
    text = content.get("text")
    if not isinstance(text, str) or not text.strip():
        return None
    places = [place for place in location.values() if isinstance(place, Mapping)]
    uri = next(
        (place[name] for place in places for name in ("uri", "url", "id") if isinstance(place.get(name), str)), ""
    )
    metadata = _mapping(result.get("metadata"))
    score, page = result.get("score"), metadata.get(_PAGE)
    return BedrockPassage(
        passage_id=hashlib.sha256(f"{uri}\n{text}".encode("utf-8", "replace")).hexdigest()[:16],
        text=text,
        uri=uri,
        page=int(page) if isinstance(page, int | float) and 0 < page < 2**31 else 0,
        score=score if isinstance(score, int | float) and not isinstance(score, bool) else None,
        metadata={name: one for name, one in metadata.items() if not name.startswith("x-amz-bedrock-")},
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
