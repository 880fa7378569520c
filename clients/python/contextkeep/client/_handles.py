"""Handles: the methods of a noun that are about one thing, with its id bound, and with the user to call for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from contextkeep.client._messages import Id

_A = TypeVar("_A")
_P = ParamSpec("_P")
_R = TypeVar("_R")


class Handle:
    """A thing with an id. Its methods are those of a noun, without the argument for the id.

    They call for the user of the handle, unless a call names another `subject_user_id`.
    """

    __slots__ = ()
    _noun: Any
    _user_id: str
    _id_field: ClassVar[str]

    def _defaults(self) -> dict[str, Any]:
        return {"subject_user_id": self._user_id} if self._user_id else {}


class Bound(Generic[_P, _R]):
    """A method of a noun that takes the id first."""

    def __init__(self, method: Callable[Concatenate[Any, Id, _P], _R]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    @overload
    def __get__(self, handle: None, owner: type[Handle]) -> Self: ...

    @overload
    def __get__(self, handle: Handle, owner: type[Handle]) -> Callable[_P, _R]: ...

    def __get__(self, handle: Handle | None, owner: type[Handle]) -> Callable[_P, _R] | Self:
        if handle is None:
            return self
        return functools.partial(self._method, handle._noun, getattr(handle, handle._id_field), **handle._defaults())


class BoundSecond(Generic[_A, _P, _R]):
    """A method of a noun that takes the id second: `send(message, context_id)`."""

    def __init__(self, method: Callable[Concatenate[Any, _A, Id | None, _P], _R]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    @overload
    def __get__(self, handle: None, owner: type[Handle]) -> Self: ...

    @overload
    def __get__(self, handle: Handle, owner: type[Handle]) -> Callable[Concatenate[_A, _P], _R]: ...

    def __get__(self, handle: Handle | None, owner: type[Handle]) -> Callable[Concatenate[_A, _P], _R] | Self:
        if handle is None:
            return self
        noun, thing_id, defaults = handle._noun, getattr(handle, handle._id_field), handle._defaults()

        def bound(first: _A, /, *args: _P.args, **named: _P.kwargs) -> _R:
            return self._method(noun, first, thing_id, *args, **{**defaults, **named})

        bound.__doc__ = self.__doc__
        return bound
