"""Texts by a model, at any endpoint that answers OpenAI's `POST /chat/completions`.

Each request is tried once. Callers have a result without a model, too, and use it if this fails.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus

import aiohttp
import orjson

from context_service.kernel.llm import endpoint
from context_service.kernel.llm.texts import ChatFailed, ChatRefused
from context_service.settings import Settings
from service_runtime.rpc.calls import answer_s, aside, remaining_s

_log = logging.getLogger("chat")

_ANSWER_BYTES_MAX = 1024 * 1024
_CONTAINERS_MAX = 64 * 1024  # lists and objects in an answer, also in JSON texts in it; parsed in 10 ms


class ChatModel:
    """Models at one endpoint. A model that failed is not called for a while, longer each time.

    Args:
        session: The HTTP connections to the endpoint.
        url: The URL that `/chat/completions` is appended to.
        models: The names of the models at the endpoint, the cheapest first.
        timeout_s: Seconds after which a request for a text fails.
        key: The operator's API key; empty if the endpoint needs none.
    """

    def __init__(
        self, session: aiohttp.ClientSession, *, url: str, models: Sequence[str], timeout_s: float, key: str = ""
    ) -> None:
        self._session = session
        self._headers = {"authorization": f"Bearer {key}"} if key else {}
        self._key = key
        self._url = f"{url.rstrip('/')}/chat/completions"
        self._timeout_s = timeout_s
        self._pauses = {model: endpoint.Pauses() for model in models}

    @property
    def models(self) -> Sequence[str]:
        """Names of the models, the cheapest first."""
        return tuple(self._pauses)

    async def text(self, *, system: str, user: str, tokens_max: int, model: str = "") -> str:
        """Return the answer of a model; see `Chat`."""
        model = model or self.models[0]
        pauses = self._pauses.get(model)
        if pauses is None:
            raise ChatFailed(f"the model {model[:100]!r} is no longer configured; add it to LLM_MODEL")
        if not pauses.is_over:
            raise ChatFailed(pauses.failed_by)
        body = orjson.dumps(
            {
                "model": model,
                "temperature": 0,
                "max_tokens": tokens_max,
                "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
            }
        )
        seconds = min(self._timeout_s, answer_s(remaining_s()))
        try:
            async with aside(), asyncio.timeout(seconds):
                status, answer, retry_after = await endpoint.post(
                    self._session, self._url, body, headers=self._headers, bytes_max=_ANSWER_BYTES_MAX
                )
        except TimeoutError:
            # A caller with little time left does not prove that the endpoint is slow.
            raise self._failure(
                pauses, "the model did not answer in time", is_of_it=seconds == self._timeout_s
            ) from None
        except (aiohttp.ClientError, OSError) as error:
            _log.warning("model cannot be reached", extra={"error": str(error) or type(error).__name__})
            raise self._failure(
                pauses, "the model cannot be reached"
            ) from error  # but not where it is: callers read this
        if answer is None:
            raise ChatRefused(str(self._failure(pauses, f"the model's answer has more than {_ANSWER_BYTES_MAX} bytes")))
        if status != HTTPStatus.OK:
            # Another text may succeed, so no pause begins.
            if status in (HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE):
                raise ChatRefused(f"the model answered {status}: {endpoint.shown(answer, key=self._key)}")
            by = f"the model answered {endpoint.status_of(status, answer, key=self._key)}"
            raise self._failure(pauses, by, asked_s=endpoint.retry_after_s(retry_after))
        pauses.answered()
        return await _content(answer)

    def _failure(self, pauses: endpoint.Pauses, by: str, *, asked_s: float = 0.0, is_of_it: bool = True) -> ChatFailed:
        """Return the error of a failed request; pause further requests if the endpoint is at fault (`is_of_it`)."""
        if is_of_it:
            pause_s = pauses.failed(by, asked_s=asked_s)
            _log.warning("model gave no text", extra={"error": by, "pause_s": pause_s})
        return ChatFailed(by)


@asynccontextmanager
async def open_endpoint(settings: Settings) -> AsyncIterator[ChatModel]:
    """Open the connections to the endpoint that the settings name."""
    async with aiohttp.ClientSession(headers={"content-type": "application/json"}) as session:
        yield ChatModel(
            session,
            url=settings.llm_url,
            models=settings.llm_models,
            timeout_s=settings.llm_timeout_s,
            key=settings.llm_api_key.get_secret_value(),
        )


async def _content(answer: bytes) -> str:
    """Return the text in the JSON answer of an endpoint.

    Raises:
        ChatRefused: the answer has another form, or an empty text.
    """
    try:
        content = await endpoint.parsed(
            answer, containers_max=_CONTAINERS_MAX, load=lambda document: document["choices"][0]["message"]["content"]
        )
    except (ValueError, TypeError, LookupError) as error:
        raise ChatRefused(
            f"the model's answer does not have the form of /chat/completions ({type(error).__name__})"
        ) from error
    if not isinstance(content, str) or not content.strip():
        raise ChatRefused("the model answered with an empty text")
    return content.strip().replace("\0", "")
