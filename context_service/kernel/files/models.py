"""What models take of files, their formulas of tokens, and the limits of a request, read from `models.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from context_service.kernel.files.facts import FileFacts, FileKind, bare_type, kind_of
from context_service.kernel.rendering.formats import Format


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFormula:
    """How a model counts a picture.

    Attributes:
        name: A formula of `tokens.py`.
        most: The most tokens that a picture can have.
        side: The longest side, in pixels, to which the vendor scales larger pictures. 0 if it is no limit.
        patches: The most patches, to which the vendor scales larger pictures.
        multiplier: Tokens of a patch.
        base: Tokens of each picture.
        tile: Tokens of each tile.
    """

    name: str = "fixed"
    most: int = 0
    side: int = 0
    patches: int = 0
    multiplier: float = 1.0
    base: int = 0
    tile: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """The limits of one request. 0 is no limit.

    Attributes:
        images: The most pictures.
        image_bytes: The most bytes of a picture, as base64.
        side: The longest side of a picture, in pixels.
        many_above: With more pictures than this, `many_side` holds in the place of `side`.
        many_side: The longest side of a picture among many, in pixels.
        request_bytes: The most bytes of the request.
        pages: The most pages of all PDFs together.
    """

    images: int = 0
    image_bytes: int = 0
    side: int = 0
    many_above: int = 0
    many_side: int = 0
    request_bytes: int = 0
    pages: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaModel:
    """What a model takes of files.

    Attributes:
        kinds: The kinds of files that it takes.
        types: The media types of pictures and audio that it takes.
        image: How it counts a picture.
        page_image: Tokens of the picture of a page of a PDF.
        page_text_max: The most tokens of the text of a page of a PDF. 0 if the text is not counted.
        second: Tokens of a second of audio.
        in_results: Whether results of tools may have files. If not, they follow in a turn of the user.
        limits: The limits of one request.
    """

    kinds: frozenset[FileKind]
    types: frozenset[str]
    image: ImageFormula
    page_image: int
    page_text_max: int
    second: int
    in_results: bool
    limits: RequestLimits

    def takes(self, facts: FileFacts) -> bool:
        """Return whether the model takes files of this type; a line of text stands in the place of others."""
        kind = kind_of(facts.media_type)
        return kind in self.kinds and (kind is FileKind.PDF or bare_type(facts.media_type) in self.types)


def media_model(name: str, to: Format) -> MediaModel:
    """Return which files a model accepts.

    Args:
        name: The name of the model, which may be unknown or empty.
        to: The format of its requests, whose vendor's values an unknown model gets.
    """
    known, defaults = _known()
    bare = name.rpartition("/")[2]  # gateways put the vendor before the name
    prefix = max((item for item in known if bare.startswith(item)), key=len, default=defaults[to])
    return known[prefix]


@cache
def _known() -> tuple[Mapping[str, MediaModel], Mapping[Format, str]]:
    """Return the models by the beginnings of their names, and the model whose values an unknown one gets by format."""
    table = yaml.safe_load(files("context_service.kernel.files").joinpath("models.yaml").read_text())
    known: dict[str, MediaModel] = {}
    defaults: dict[Format, str] = {}
    for vendor in table.values():
        defaults |= {Format(name): vendor["default"] for name in vendor["formats"]}
        known |= {name: _model(vendor["common"] | values) for name, values in vendor["models"].items()}
    return known, defaults


def _model(values: dict[str, Any]) -> MediaModel:
    """Return which files a model accepts, from its entry in `models.yaml`."""
    limits = dict(values.get("limits", {}))
    many = limits.pop("many", {})
    image = dict(values.get("image", {}))
    page = values.get("page", {})
    return MediaModel(
        kinds=frozenset(map(FileKind, values["takes"])),
        types=frozenset([*values.get("image_types", ()), *values.get("audio_types", ())]),
        image=ImageFormula(name=image.pop("formula", "fixed"), **image),
        page_image=page.get("image", 0),
        page_text_max=page.get("text_max", 0),
        second=values.get("second", 0),
        in_results=values.get("in_results", True),
        limits=RequestLimits(**limits, many_above=many.get("above", 0), many_side=many.get("side", 0)),
    )
