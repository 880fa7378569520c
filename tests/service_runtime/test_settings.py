"""Settings: checked once, explained in one line each."""

from __future__ import annotations

import pytest

from context_service.settings import Settings
from service_runtime.settings import load

URL = "postgresql://service:pa55word@db/contextkeep"


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_URL", "WORKING_MEMORY_DATABASE_URL", "ENVIRONMENT", "API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_an_older_name_stands_for_the_new_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WORKING_MEMORY_DATABASE_URL", URL)

    assert load(Settings).database == URL


def test_both_names_with_one_value_are_fine_and_with_two_an_error(monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setenv("WORKING_MEMORY_DATABASE_URL", URL)
    monkeypatch.setenv("DATABASE_URL", URL)
    load(Settings)

    monkeypatch.setenv("DATABASE_URL", URL + "2")
    with pytest.raises(SystemExit) as exit_with:
        load(Settings)

    assert exit_with.value.code == 2
    printed = capsys.readouterr().err
    assert "DATABASE_URL and its older name WORKING_MEMORY_DATABASE_URL are both set and differ" in printed
    assert "secret" not in printed


def test_production_guesses_no_database(monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setenv("ENVIRONMENT", "production")

    with pytest.raises(SystemExit):
        load(Settings)

    assert "DATABASE_URL is required in production" in capsys.readouterr().err


def test_a_wrong_value_names_its_variable(monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setenv("CONTEXT_SERVICE_PORT", "fifty")

    with pytest.raises(SystemExit):
        load(Settings)

    assert capsys.readouterr().err.startswith("CONTEXT_SERVICE_PORT: ")


def test_secrets_are_not_shown(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DATABASE_URL", URL)
    monkeypatch.setenv("API_KEY", "s3cret")

    assert "pa55word" not in repr(load(Settings))
    assert "s3cret" not in repr(load(Settings))


def test_settings_do_not_change():
    with pytest.raises(ValueError, match="frozen"):
        Settings().calls_max = 1  # type: ignore[misc]


@pytest.mark.parametrize(("said", "level"), [("info", "INFO"), ("warn", "WARNING"), ("Warning", "WARNING")])
def test_a_level_is_taken_as_loggers_elsewhere_write_it(monkeypatch: pytest.MonkeyPatch, said: str, level: str):
    monkeypatch.setenv("LOG_LEVEL", said)
    assert load(Settings).log_level == level
