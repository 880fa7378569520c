"""Whoever gets a part of this gets its license with it: each distribution is packed from a folder of its own."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LICENSE = (ROOT / "LICENSE").read_text("utf-8")


@pytest.mark.parametrize("folder", [".", "clients/python", "clients/console"])
def test_a_python_distribution_names_and_carries_the_license(folder: str):
    project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text("utf-8"))["project"]

    assert (project["license"], project["license-files"]) == ("Apache-2.0", ["LICENSE"])
    assert (ROOT / folder / "LICENSE").read_text("utf-8") == LICENSE


@pytest.mark.parametrize("folder", [".", "clients/typescript"])
def test_a_package_of_npm_names_and_carries_the_license(folder: str):
    """Npm packs a file of this name by itself."""
    assert json.loads((ROOT / folder / "package.json").read_text("utf-8"))["license"] == "Apache-2.0"
    assert (ROOT / folder / "LICENSE").read_text("utf-8") == LICENSE


def test_the_image_names_the_license():
    assert 'org.opencontainers.image.licenses="Apache-2.0"' in (ROOT / "deploy/Dockerfile").read_text("utf-8")
