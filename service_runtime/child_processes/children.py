"""Child processes that do not outlive this one."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1


def die_with_us(number: signal.Signals) -> Callable[[], None]:
    """Return the first function of a child (`preexec_fn`): the kernel sends it a signal when we die, however we die.

    It gets a session of its own, too: Ctrl-C is for us, who stop our children in order. Elsewhere than on Linux that is
    all. A change of account would forget the signal; `subprocess` makes that before.
    """
    prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None  # loaded here: a child that forks does little

    def first() -> None:
        os.setsid()
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, number)

    return first
