"""Decodes texts in any encoding: by their byte-order mark, by the declared charset, as UTF-8, or by their bytes.

A wrong guess would hide a text from search without a word, so a text that no encoding fits well is refused.
"""

from __future__ import annotations

import codecs
import string
from functools import cache

from charset_normalizer import from_bytes

from context_service.retrieval.documents.kinds import Reason, Refused, is_utf8

_DECLARED = frozenset(
    {"utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "shift_jis", "iso2022_jp", "euc_kr", "gbk"}
    | {"koi8-u", "tis-620", "mac-roman", "cp437", "cp850", "cp1257", "cp1258"}
    | {f"iso8859-{number}" for number in range(1, 17) if number != 12}  # there is no twelfth part
)
# The encodings that bytes are tried in. Others, such as those of old Macs, fit texts of these too often by chance.
_WEST, _LATIN = "cp1252", ("cp1252", "cp1250", "cp1254")
_GUESSED = (
    *("utf_16_le", "utf_16_be", "utf_32_le", "utf_32_be", _WEST, "cp1250", "cp1251", "cp1253", "cp1254", "cp1255"),
    *("cp1256", "koi8_r", "cp866", "cp932", "euc_jp", "gb18030", "big5", "cp949"),
)
_ASCII_LETTERS = [letter.encode() for letter in string.ascii_letters]
_NO_ASCII = bytes(range(128, 256))
_GUESS_BYTES_MAX = 256 * 1024  # the encoding is told by the beginning of a text
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def load() -> None:
    """Import the modules that decoding needs, before the process is barred from opening files."""
    for charset in (*_DECLARED, *_GUESSED, "utf-8-sig"):
        codecs.lookup(charset)
    _guess("Größe, très tôt, año".encode(_WEST))


def decoded(data: bytes, charset: str) -> str:
    """Decode a text by the first encoding that fits: its mark, the declared charset, UTF-8, or a guess by its bytes.

    Raises:
        Refused: no encoding fits the bytes well.
    """
    for mark, marked in _MARKS:
        if data.startswith(mark):
            charset = marked
            break
    for name in filter(None, (_python_charset(charset), "utf-8" if is_utf8(data) else "")):
        try:
            return data.decode(name)
        except UnicodeDecodeError:
            continue
    try:
        return data.decode(_guess(data[:_GUESS_BYTES_MAX]) or "utf-8")
    except UnicodeDecodeError:
        pass
    raise Refused(Reason.UNREADABLE, "it is text in no known encoding; name it as `charset` in the content type")


def _guess(beginning: bytes) -> str:
    """Return the encoding that fits bytes best; empty if none does."""
    matches = from_bytes(beginning, cp_isolation=list(_LATIN if _is_latin(beginning) else _GUESSED))
    best = matches.best()
    if best is None:
        return ""
    if best.encoding in _LATIN:
        # These differ in few letters. If the words do not tell which it is, the most common one is the best guess.
        for match in matches:
            if _WEST in match.could_be_from_charset and match.coherence >= best.coherence:
                return _WEST
    return best.encoding


def _is_latin(data: bytes) -> bool:
    """Say whether bytes have more letters of ASCII than other ones: then they are text of a European language."""
    letters = sum(map(data.count, _ASCII_LETTERS))
    return not data.count(0) and letters > len(data) - len(data.translate(None, _NO_ASCII))


def _python_charset(charset: str) -> str:
    """Return Python's name of a declared charset; empty if it is missing, unknown or not supported."""
    if charset == "utf-8-sig":
        return charset
    try:
        name = codecs.lookup(charset).name if charset else ""
    except LookupError:
        return ""
    # As in browsers: texts that declare ISO 8859-1 or ASCII are often written in cp1252, which contains both.
    name = _WEST if name in {"iso8859-1", "ascii"} else name
    return name if name in _names() else ""


@cache
def _names() -> frozenset[str]:
    """Return Python's names of the encodings that a text may declare, but UTF-8, which is tried in any case."""
    return frozenset(codecs.lookup(charset).name for charset in (*_DECLARED, *_GUESSED))
