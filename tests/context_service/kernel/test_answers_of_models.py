"""Answers of models and embedders: those that would cost much to read are not read."""

from __future__ import annotations

import orjson
import pytest

from context_service.kernel.embedding import EMBEDDING_DIMENSION
from context_service.kernel.llm import chat, embedder
from context_service.kernel.llm.embeddings import EmbedderFailed
from context_service.kernel.llm.texts import ChatFailed

_FLOOD = b",".join([b"{}"] * 300_000)


async def test_an_answer_of_a_model_with_a_flood_of_objects_is_refused_before_it_is_parsed():
    with pytest.raises(ChatFailed, match="ValueError"):
        await chat._content(b'{"choices":[{"message":{"content":"said"}}],"x":[' + _FLOOD + b"]}")

    assert await chat._content(b'{"choices":[{"message":{"content":"said [1]"}}]}') == "said [1]"


async def test_an_answer_of_an_embedder_with_a_flood_of_objects_is_refused_before_it_is_parsed():
    data = [{"index": index, "embedding": [0.5] * EMBEDDING_DIMENSION} for index in (1, 0)]
    honest = orjson.dumps({"data": data})

    with pytest.raises(EmbedderFailed, match="ValueError"):
        await embedder._vectors(honest[:-1] + b',"x":[' + _FLOOD + b"]}", count=2)

    assert [len(one) for one in await embedder._vectors(honest, count=2)] == [EMBEDDING_DIMENSION] * 2
