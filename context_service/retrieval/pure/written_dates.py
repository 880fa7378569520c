"""Dates in a text, in any notation that means only one day.

"3/5/2024" may be in March or in May, so it is no date here; "25/3/2024", "5.3.2024" and "5 mars 2024" are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from context_service.retrieval.pure.letters import fold

_YEARS = range(1000, 2200)
_MONTHS_MAX = 12
_CENTURY = 2000
_BEFORE_YEAR, _AFTER_YEAR = 40, 24  # characters around a year that its day and month are looked for in

_YEAR_FIRST = re.compile(r"(?<![\d.])(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)")
_YEAR_LAST = re.compile(r"(?<![\d.])(\d{1,2})([-/.])(\d{1,2})\2(\d{4})(?!\d)")
_SHORT = re.compile(r"(?<![\d.])(\d\d)\.(\d\d)\.(\d\d)(?![\d.])")
_EAST = re.compile(r"\s?[年년]\s?(\d{1,2})\s?[月월]\s?(\d{1,2})\s?[日일]")
_YEAR = re.compile(r"(?<!\d)(?:1\d|20|21)\d\d(?!\d)")
_LETTERS = r"[^\W\d_]+(?:[\u0300-\u036f\u0900-\u0903\u093a-\u094f]+[^\W\d_]*)*"
_OF = r"(?:of|de|del|di|do|da|d['\u2019])"
_DAY_MONTH = re.compile(rf"(?<!\d)(\d{{1,2}})(?:st|nd|rd|th|er|[.ºª°])?\s(?:{_OF}\s?)?({_LETTERS})\.?,?\s(?:{_OF}\s)?$")
_MONTH_DAY = re.compile(rf"({_LETTERS})\.?\s(\d{{1,2}})(?:st|nd|rd|th)?,?\s$")
_AFTER = re.compile(rf"\.?\s({_LETTERS})\.?\s(\d{{1,2}})(?:st|nd|rd|th)?(?![\d:])")

# The months in twenty languages, with some short forms: by month, in lower case and without accents.
_NAMES = (
    "january jan januar januari janvier enero gennaio janeiro stycznia styczen ocak января январь січня ianuarie ledna"
    " leden tammikuuta ιανουαριου januara januára جنوری يناير जनवरी",
    "february feb febr februar februari fevrier febrero febbraio fevereiro lutego luty subat февраля февраль лютого"
    " februarie unora unor helmikuuta φεβρουαριου februara februára فبراير फरवरी फ़रवरी",
    "march mar marz maerz maart mars marzo marco marca marzec mart марта март березня martie brezna brezen maaliskuuta"
    " μαρτιου marcius مارس मार्च",
    "april apr avril abril aprile kwietnia kwiecien nisan апреля апрель квітня aprilie dubna duben huhtikuuta απριλιου"
    " aprilis أبريل अप्रैल",
    "may mai mei maj mayo maggio maio maja mayis мая май травня kvetna kveten toukokuuta μαιου majus مايو मई",
    "june jun juni juin junio giugno junho czerwca czerwiec haziran июня июнь червня iunie cervna cerven kesakuuta"
    " ιουνιου junius يونيو जून",
    "july jul juli juillet julio luglio julho lipca lipiec temmuz июля июль липня iulie cervence cervenec heinakuuta"
    " ιουλιου julius يوليو जुलाई",
    "august aug augusti augustus aout agosto sierpnia sierpien agustos августа август серпня srpna srpen elokuuta"
    " αυγουστου augusztus أغسطس अगस्त",
    "september sep sept septembre septiembre settembre setembro wrzesnia wrzesien eylul сентября сентябрь вересня"
    " septembrie zari syyskuuta σεπτεμβριου szeptember سبتمبر सितंबर सितम्बर",
    "october oct okt oktober octobre octubre ottobre outubro pazdziernika pazdziernik ekim октября октябрь жовтня"
    " octombrie rijna rijen lokakuuta οκτωβριου أكتوبر अक्टूबर अक्तूबर",
    "november nov novembre noviembre novembro listopada listopad kasim ноября ноябрь листопада noiembrie listopadu"
    " marraskuuta νοεμβριου نوفمبر नवंबर नवम्बर",
    "december dec dez dezember decembre diciembre dicembre dezembro grudnia grudzien aralik декабря декабрь грудня"
    " decembrie prosince prosinec joulukuuta δεκεμβριου ديسمبر दिसंबर दिसम्बर",
)
_MONTHS = {fold(name): number for number, names in enumerate(_NAMES, 1) for name in names.split()}


def dates_of(token: str) -> Iterator[str]:
    """Yield the dates in digits that a text without spaces has, in the form 2024-03-05."""
    for match in _YEAR_FIRST.finditer(token):
        yield from _date(int(match[1]), int(match[3]), int(match[4]))
    for match in _YEAR_LAST.finditer(token):
        day, month = int(match[1]), int(match[3])
        if match[2] == "." or day > _MONTHS_MAX or day == month:
            yield from _date(int(match[4]), month, day)
        elif month > _MONTHS_MAX:
            yield from _date(int(match[4]), day, month)
    for match in _SHORT.finditer(token):
        yield from _date(_CENTURY + int(match[3]), int(match[2]), int(match[1]))


def dates_in_words(text: str) -> Iterator[str]:
    """Yield the dates with the name of a month that a text has, and those of East Asia, in the form 2024-03-05."""
    for match in _YEAR.finditer(text):
        yield from _around(int(match[0]), text[max(0, match.start() - _BEFORE_YEAR) : match.start()])
        after = text[match.end() : match.end() + _AFTER_YEAR]
        if (found := _AFTER.match(after)) and (month := month_of(found[1])):
            yield from _date(int(match[0]), month, int(found[2]))
        elif found := _EAST.match(after):
            yield from _date(int(match[0]), int(found[1]), int(found[2]))


def _around(year: int, before: str) -> Iterator[str]:
    """Yield the date that ends with a year, if a month in letters and a day stand before it."""
    if (match := _DAY_MONTH.search(before)) and (month := month_of(match[2])):
        yield from _date(year, month, int(match[1]))
    elif (match := _MONTH_DAY.search(before)) and (month := month_of(match[1])):
        yield from _date(year, month, int(match[2]))


def month_of(name: str) -> int:
    """Return the number of a month by its name; 0 if it is no month."""
    return _MONTHS.get(fold(name.casefold()), 0)


def _date(year: int, month: int, day: int) -> Iterator[str]:
    """Yield a day as a text, if there is such a day."""
    if year not in _YEARS:
        return
    try:
        yield date(year, month, day).isoformat()
    except ValueError:
        return
