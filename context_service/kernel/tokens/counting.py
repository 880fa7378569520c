"""Counts tokens as a family of models does.

OpenAI's encodings are counted exactly if the extra `tokens` is installed, else estimated (`estimates`). Those of Claude
and Gemini are not public: they are counted as o200k_base times a factor that was measured on mixed texts. Bills
(`Calibration`) do not change counts, only the budgets that are computed from counts: a text that was counted once keeps
its count.
"""

from __future__ import annotations

import importlib.util
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from typing import Any

from context_service.kernel.extensions import Guarded, Unusable, installed
from context_service.kernel.tokens.estimates import estimate
from service_runtime.inputs.documents import beside_the_loop, check_wanted

O200K, CL100K = "o200k_base", "cl100k_base"

# Characters that are counted at a time, which takes 1 ms (6 ms for dashes) and blocks the other threads.
_PIECE_CHARS = 8 * 1024
# Where both tokenizers always split: a word, one space, a word. So the pieces have as many tokens as the whole text.
_BORDER = re.compile(r"(?<=[^\W\d_]) (?=[^\W\d_])")
_BORDER_WITHIN_CHARS = 1024
_OWN_CALL_S = 0.05  # timeout of an extension that counts tokens
_OWN_CHARS_MAX = 1_000  # the longest token that a count of an extension may imply


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Models that split texts into tokens in the same way."""

    encoding: str  # O200K or CL100K
    factor: float = 1.0  # tokens of the family for each token of the encoding


FAMILIES = {
    "o200k": Family(encoding=O200K),
    "cl100k": Family(encoding=CL100K),
    "claude": Family(encoding=O200K, factor=1.15),
    "gemini": Family(encoding=O200K, factor=1.05),
}


class TokenCounter:
    """Counts tokens for one family.

    The first counter of an encoding in a process reads its 200,000 tokens, which takes 70 ms and 65 MB.

    Args:
        family: The name of a family in `FAMILIES`.

    Raises:
        KeyError: there is no such family.
    """

    def __init__(self, family: str = "o200k") -> None:
        self._family = FAMILIES[family]
        self._own = _own_counter(family)
        self._tokenizer = _tokenizer(self._family.encoding)

    def count(self, text: str) -> int:
        """Return how many tokens a text has; at least one if it is not empty.

        1 MiB of ordinary text takes 100 ms; of dashes, up to a second.
        """
        check_wanted()
        if self._own:
            with suppress(Unusable):
                return self._own(lambda answer: _a_count(answer, text), text)
        if self._tokenizer is None:
            tokens = estimate(text, older=self._family.encoding == CL100K)
        elif len(text) <= _PIECE_CHARS:
            tokens = self._tokenizer(text)
        else:
            tokens = sum(map(self._tokenizer, _pieces(text)))
        # Rounded, so that rounding errors of the product do not add a token; and each token has at least one byte.
        counted = math.ceil(round(tokens * self._family.factor, 6))
        return counted if counted <= len(text) else min(counted, len(text.encode(errors="surrogatepass")))

    async def counts(self, texts: Sequence[str]) -> list[int]:
        """Return the count of each text; during long work, yield to the event loop."""
        return await beside_the_loop(sum(map(len, texts)), lambda: [self.count(text) for text in texts])


def is_exact(family: str) -> bool:
    """Return whether tokens of a family are counted by its own tokenizer, not estimated; this loads no tokenizer."""
    return FAMILIES[family].factor == 1.0 and _is_installed()


@cache
def _own_counter(family: str) -> Guarded | None:
    """Return the installed extension that counts the tokens of a family, or None."""
    own = installed(f"token_counter.{family}")
    return Guarded(f"token_counter.{family}", own, call_s=_OWN_CALL_S) if own else None


def _a_count(answer: object, text: str) -> int:
    """Return the count of an extension if it is plausible: each token has at least one byte, and not thousands."""
    if type(answer) is not int or not len(text) / _OWN_CHARS_MAX <= answer <= len(text.encode(errors="surrogatepass")):
        raise ValueError(f"a text of {len(text)} characters cannot have {answer!r:.40} tokens")
    return answer


@cache
def _is_installed() -> bool:
    return importlib.util.find_spec("bpe_openai") is not None


@cache
def _tokenizer(encoding: str) -> Callable[[str], int] | None:
    """Return a counter, or None without its package."""
    bindings = _bindings()
    if bindings is None:
        return None
    count: Callable[[str], int] = bindings.tokenizer_for_encoding(encoding).count

    def counted(text: str) -> int:
        try:
            return count(text)
        except UnicodeEncodeError:  # tiktoken decodes half a character to an invalid one
            return count(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))

    return counted


def _bindings() -> Any:
    """Return the tokenizer's library without the package around it; None if it is not installed.

    The package reads every encoding into Python when it is imported: 75 MB more, and most of a second of CPU.
    """
    name = "bpe_openai._bindings"
    if name not in sys.modules:
        package = importlib.util.find_spec("bpe_openai")
        spec = package and PathFinder.find_spec(name, package.submodule_search_locations)
        if spec is None or spec.loader is None:
            return None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[name] = module  # it can be loaded once in a process, so later imports of the package get this one
    return sys.modules[name]


def _pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces, cut where tokens end; if there is no such place for long, cut anywhere."""
    start = 0
    while start < len(text):
        check_wanted()
        end = start + _PIECE_CHARS
        if end < len(text):
            border = _BORDER.search(text, end - _BORDER_WITHIN_CHARS, end)
            end = border.start() if border else end
        yield text[start:end]
        start = end
