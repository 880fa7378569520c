"""What services in this process logged."""

from __future__ import annotations

import logging

import pytest


def port_of(caplog: pytest.LogCaptureFixture, name: str) -> int:
    """Return the port on which a logger's endpoint, that a fixture started, listens; the log is at INFO for it."""
    said = [vars(record) for record in caplog.get_records("setup") if record.name == name]
    port: int = next(values["port"] for values in said if values["msg"] == "serving")
    return port


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what was logged as an error during the test."""
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
