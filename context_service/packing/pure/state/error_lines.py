"""Find the line of a tool's output that names its error, and say whether a later statement reports a solution.

The output of a failed call has many lines: a log, a traceback, a summary of counts. An error message names the cause
("No module named 'tomli_w'"); a line that only counts errors does not, nor does a frame of a traceback. If there are
several such messages, the one with the most specific form is taken. Of equal forms the last one is taken, because
programs end with the cause.

A statement counts as a solution only if it names the error by a word or a number that is rare in other texts. Most
sentences do not show whether the error is gone, so a statement that repeats the error, or says that it is still there,
does not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from context_service.profiles.pure.profiles import Pattern

ERROR_CHARS_MAX = 600  # the most characters of an error line; the rest is cut off
_END_CHARS = 10_000  # how many characters at the beginning and at the end of an output are searched


class _LinePattern:
    """A pattern for lines, in the syntax that `re` and RE2 share.

    RE2 searches a line ten times as fast, and agrees with `re` on lines of ASCII without the sign 0x1f, which only `re`
    takes for white space. `re` searches all other lines, because RE2 knows only the letters of ASCII as such.
    """

    __slots__ = ("_any", "_of_ascii")

    def __init__(self, text: str, *, any_case: bool = False) -> None:
        self._any = re.compile(text, re.IGNORECASE if any_case else 0)
        self._of_ascii = Pattern(_without_escapes(text), any_case=any_case)

    def is_in(self, line: str) -> bool:
        """Return whether a line has the pattern."""
        if line.isascii() and "\x1f" not in line:
            return self._of_ascii.is_in(line.encode())
        return self._any.search(line) is not None


def _without_escapes(text: str) -> str:
    """Return a pattern for RE2, which writes letters by their numbers in another form."""
    return re.sub(r"\\u(\w{4})", lambda found: f"\\x{{{found[1]}}}", text)


_BLANK_LINE = re.compile(r"^[\s\W_]*$")
_FRAME = _LinePattern(r"""^\s*(?:File "|at \S+\s?\(|\.{3} \d+ more|Traceback\b|-+>|in \S+ line \d+)|Traceback \(""")
_COUNT = _LinePattern(
    r"\b(?:0|no) (?:errors?|failures?|failed|warnings?)\b|\bfound \d+ errors?|^\W*\d+ (?:errors?|failed|warnings?)\b"
    r"|\b(?:errors?|fail(?:ed|ures?)?)\s*[=:]\s*\d+\b(?:,|\s*$|\s+\w+=)|\b(?:ok|passed)\b.*\bfailed\b|"
    r"\bbuild failed\]"
    r"|\b\d+ failed,|\b(?:error|status|exit)[ _-]?(?:code|status)?:? \d+\s*$",
    any_case=True,
)
# Counts of failures other than zero, statuses of processes, and the verdicts of test runners.
_FAILED_COUNT = re.compile(
    r"(?<![\d.,])[1-9]\d*(?:[.,]\d+)* (?:(?:tests?|checks?|of \d+ tests?) )?(?:fail(?:ed|ing|ures?)?|errors?)\b"
    r"|\b(?:errors?|fail(?:ed|ing|ures?)?) *[=:] *[1-9]|^[^\w\n]*fail [1-9]"
    r"|\bexit(?:ed)?(?: with)?[ _-]?(?:code|status)?[:=]? ?[1-9]|\b(?:build|tests?) failed\b|^not ok \d",
    re.IGNORECASE | re.MULTILINE,
)
_FAILED_VERDICT = re.compile(r"^[^\w\n]*FAIL(?:ED|URE)?\b", re.MULTILINE)
_CALM = _LinePattern(
    r"\b(?:INFO|DEBUG|NOTICE|TRACE|hint|note|level=(?:info|debug))\b|^\s*[$>+#|]\s|\bPS\b.*>", any_case=True
)
_WARNS = _LinePattern(
    r"\b(?:WARN|WARNING|Warnung|avertissement|aviso|avviso|waarschuwing|level=warn\w*)\b", any_case=True
)
# `SomeError: what is wrong`, as most languages' runtimes end their traces.
_NAMED = _LinePattern(
    r"^E   \S|(?:^|[\s.:(])\w*(?:Error|Exception|Violation|Fault|Failure|Interrupt|Exit)(?:\[\w+\])?: \S"
)
_LABELS = (
    r"E\d{2,}|error|fatal|panic|critical|alert|emerg|severe|fault|fehler|erreur|errore|"
    r"erro|"
    r"b\u0142\u0105d|hata|fout|fel|\u30a8\u30e9\u30fc|\u9519\u8bef|\u932f\u8aa4|\u062e\u0637\u0623|"
    r"\u043e\u0448\u0438\u0431\u043a\u0430"
)
_LABELLED = _LinePattern(
    rf"(?:^|[\s\[<(*])(?:\w+ )?(?:{_LABELS})\b[^\n]{{0,40}}?[:\])=\s]"
    r"|level=(?:error|fatal|crit)|\"s\":\"[EF]\"|[\u30a8\u9519\u932f]\S{1,3}[:\uff1a]",
    any_case=True,
)
_FAILURES = (
    r"cannot|can't|could not|couldn't|unable|unknown|undefined|unexpected|unrecogni[sz]ed|invalid|illegal|"
    r"missing|"
    r"not (?:found|allowed|permitted|supported|valid|exist|enough|created|sent|registered|authori[sz]ed)|no such|"
    r"(?:do|does|did|is|are|was|has)(?: not|n't)|accepted:|denied|refused|rejected|forbidden|failed|failure|fails|"
    r"aborted|timed? ?out|timeout|exceeds?|exceeded|"
    r"expired|duplicate|already (?:exists?|in use)|conflicts?|mismatch|out of|too (?:many|large|long|old|stale|"
    r"big|small)|"
    r"blocked|stopped|revoked|read-only|busy|full|unreachable|insufficient|declined|violat\w+|killed|crash\w*|"
    r"required|"
    r"jam|disconnected|corrupt\w*|overflow|broken|lost|unsupported|undeliverable|limit|reserved|"
    r"abgelehnt|nicht|kein\w*|ung\u00fcltig|fehlgeschlagen|verweigert|"
    r"impossible|refus\w*|introuvable|\u00e9chec|\u00e9chou\u00e9|invalide|d\u00e9faut|manquant\w*|bloqu\u00e9|"
    r"rechazad[oa]|denegad[oa]|fall[\u00f3oa]\w*|inv\u00e1lid[oa]|ausente|incidencia|"
    r"rifiutat[oa]|negato|fallit[oa]|impossibile|non|recusad[oa]|falhou|n\u00e3o|"
    r"niet|geweigerd|mislukt|ongeldig|nie|odmow\w+|brak|bulunamad\u0131|ba\u015far\u0131s\u0131z|reddedildi"
)
_FAILURES_WITHIN_WORDS = (
    "\u5931\u8d25|\u5931\u6557|\u3067\u304d\u307e\u305b\u3093|\u65e0\u6cd5|\u062a\u0639\u0630\u0631"
)
_FAILS = _LinePattern(rf"\b(?:{_FAILURES})\b|{_FAILURES_WITHIN_WORDS}", any_case=True)
# What the three patterns above look for, in lines that they match and in some others. RE2 knows `\\w` of ASCII only,
# so the hints do without it.
_HINTS = (
    f'{_LABELS}|{_FAILURES}|{_FAILURES_WITHIN_WORDS}|exception|violation|interrupt|exit|E   |level=|"s":|'
    "[\u30a8\u9519\u932f]"
)
_HINT = Pattern(_without_escapes(re.sub(r"\\w[+*]", "", _HINTS)), any_case=True)
# What `_FAILED_COUNT` and `_FAILED_VERDICT` look for, in texts that they match and in some others.
_FAILURE_HINT = Pattern("fail|error|exit|not ok", any_case=True)

# Words that few texts have: identifiers, numbers of three digits or more, quoted names, long words.
_SPECIFIC = re.compile(r"[^\W\d_]*\d[\w.:-]*\d\w*|\w+(?:[._/-]\w+)+|[A-Z][a-z]+[A-Z]\w+|\w{5,}")
_COMMON_WORDS = (
    "error errors failed failure fails failing cannot could warning exception traceback there which their before after "
    "again since other still about would every first found found. where while because needed resolved solved fixed "
    "worked works working fixing problem issue cause caused started running tests fehler erreur"
)
_COMMON = frozenset(_COMMON_WORDS.split())
_STILL = re.compile(
    r"\b(?:still|again|anyway|same|keeps?|persists?|remains|unchanged|noch immer|immer noch|wieder|derselbe|gleiche|"
    r"encore|toujours|m\u00eame|sigue|otra vez|mism[oa]|ancora|stess[oa]|uguale|ainda|mesm[oa]|nog steeds|weer|nadal|"
    r"h\u00e2l\u00e2|ayn\u0131|not (?:yet )?(?:fixed|resolved|solved))\b",
    re.IGNORECASE,
)
_WORKS = re.compile(
    r"\b(?:works?|worked|working|pass(?:es|ed)?|builds?|built|loads?|loaded|succe\w+|done|ok|okay|runs?|ran|gone|"
    r"is back|readable|"
    r"complet\w+|green|delivered|fixed|solved|resolved|restarted|confirmed|corrected|cleared|(?:went|"
    r"goes) through|finished|"
    r"up again|l\u00e4uft|geht|funktioniert\w*|behoben|erledigt|marche|passe|fonctionne|tourne|corrig\u00e9|"
    r"funciona|resuelto|hecho|"
    r"funziona|risolto|fatto|resolvido|feito|werkt|opgelost|dzia\u0142a|\u00e7al\u0131\u015f\w+)\b|\u89e3\u51b3|"
    r"\u6210\u529f|\u76f4\u308a|\u52d5\u304d",
    re.IGNORECASE,
)
_IDENTIFIES = re.compile(r"\d|\w[._/-]\w|(?:error|exception|violation)$")  # one such word is enough
_PLAIN_WORDS_MIN = 2  # the plain words that a statement and an error must share if the statement says what works
_WORD = re.compile(r"\w+")
_REPEATED_WORDS = 4  # a statement with this many words of the error in a row repeats the error


def error_line(text: str) -> str:
    """Return the line of a failed call's output that names its error, or an empty text if no line surely does."""
    if len(text) > 2 * _END_CHARS:
        text = f"{text[:_END_CHARS]}\n{text[-_END_CHARS:]}"
    lines = [line for line in text.splitlines() if not _BLANK_LINE.match(line)]
    if len(lines) == 1:
        return lines[0].strip()[:ERROR_CHARS_MAX]
    weights = [_weight(line) for line in lines]
    best = max(weights, default=0)
    if best <= 0:
        return ""
    numbers = [number for number, weight in enumerate(weights) if weight == best]
    return lines[numbers[-1]].strip()[:ERROR_CHARS_MAX]


def has_error(text: str) -> bool:
    """Return whether a line of an output names an error."""
    return _HINT.is_in(text.encode(errors="replace")) and any(map(_weight, text.splitlines()))


def reports_failure(text: str) -> bool:
    """Return whether an output names an error, or says that something failed, such as "3 failed, 12 passed"."""
    is_hinted = _FAILURE_HINT.is_in(text.encode(errors="replace"))
    return (is_hinted and bool(_FAILED_COUNT.search(text) or _FAILED_VERDICT.search(text))) or has_error(text)


def _weight(line: str) -> int:
    """Return how surely a line names an error: 0 if it does not."""
    if not _HINT.is_in(line.encode(errors="replace")) or _FRAME.is_in(line) or _COUNT.is_in(line):
        return 0
    weight = 8 * bool(_NAMED.is_in(line)) + 4 * bool(_LABELLED.is_in(line)) + 2 * bool(_FAILS.is_in(line))
    if _CALM.is_in(line):
        weight //= 4
    return weight // 2 if _WARNS.is_in(line) else weight


def names_error(statement: str, error: str, *, words_min: int = 1) -> bool:
    """Return whether a statement is about an error, and neither repeats it nor says that it is still there.

    Args:
        statement: A later sentence of a user or the assistant.
        error: The line that names the error.
        words_min: The number of plain words that both texts must have. One shared name or number is always enough.
    """
    shared = _specific(statement) & _specific(error)
    if _STILL.search(statement) or not (len(shared) >= words_min or any(map(_IDENTIFIES.search, shared))):
        return False
    terms = _WORD.findall(statement.casefold())
    runs = {tuple(terms[at : at + _REPEATED_WORDS]) for at in range(len(terms))}
    words = _WORD.findall(error.casefold())
    return not any(tuple(words[at : at + _REPEATED_WORDS]) in runs for at in range(len(words) - _REPEATED_WORDS + 1))


def resolves(statement: str, error: str) -> bool:
    """Return whether a statement names an error and says that something works."""
    return bool(_WORKS.search(statement)) and names_error(statement, error, words_min=_PLAIN_WORDS_MIN)


def _specific(text: str) -> set[str]:
    """Return the words of a text that are rare in other texts, in lower case."""
    return set(_specific_words(_SPECIFIC.findall(text)))


def _specific_words(words: Iterable[str]) -> Iterable[str]:
    """Yield words in lower case and without a plural s, except those that most texts about errors have."""
    for word in words:
        folded_word = word.casefold().strip("._-:/")
        if folded_word not in _COMMON:
            yield folded_word.removesuffix("s")
