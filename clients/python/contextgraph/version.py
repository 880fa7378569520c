"""The version of this distribution; a test holds it to pyproject.toml."""

VERSION = "0.1.0"
