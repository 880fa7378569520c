"""Recognises credentials and numbers of accounts and cards in a sentence, so that no memory has one.

It is strict: a sentence that only names a password teaches nothing, either.
"""

from __future__ import annotations

import re

from context_service.learning.pure.guards import guard

_NAMED = guard("credential")
_DIGITS = re.compile(r"(?:\d[ -]?){13,19}")
_RANDOM = re.compile(r"[A-Za-z0-9_+/=.-]{16,}")


def names_credential(sentence: str) -> bool:
    """Return whether a sentence has or names a credential, or the number of an account or a card."""
    if _NAMED.search(sentence):
        return True
    if any(_is_card(match[0]) for match in _DIGITS.finditer(sentence)):
        return True
    return any(_is_random(match[0]) for match in _RANDOM.finditer(sentence))


def _is_card(text: str) -> bool:
    """Return whether digits have the check sum of a card (Luhn)."""
    digits = [int(sign) for sign in text if sign.isdigit()]
    doubled = [number * 2 - 9 * (number > 4) for number in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_random(token: str) -> bool:
    """Return whether a token looks random: letters and digits mixed, and no address of mail."""
    digits = sum(sign.isdigit() for sign in token)
    return digits >= 4 and len(token) - digits >= 4
