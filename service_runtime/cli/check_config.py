"""`check-config`: every setting with its value, origin and meaning, and whether the named dependencies answer."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from pydantic import SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from contextkeep.errors import ContextKeepError
from service_runtime.cli.tables import print_table
from service_runtime.grpc_server.server import Check
from service_runtime.settings import problems_of

CHECK_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A variable, as the process sees it."""

    name: str
    value: str  # a secret is shown as asterisks
    is_set: bool  # else it is the default
    meaning: str
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """Something that the settings name, and whether it answers as it should."""

    name: str
    problem: str = ""  # empty: all is well


def explain(settings_class: type[BaseSettings]) -> list[Setting]:
    """Return every variable of a service, with its problem; problems of several variables together come first."""
    values: BaseSettings | None = None
    problems: dict[str, str] = {}
    try:
        values = settings_class()
    except ValidationError as error:
        problems = problems_of(error)
    together = [Setting(name="", value="", is_set=True, meaning="", problem=problems[""])] if "" in problems else []
    return together + [
        Setting(
            name=name.upper(),
            value=_display(getattr(values, name)) if values else _unread(name, field),
            is_set=bool(os.environ.get(name.upper())),
            meaning=field.description or "",
            problem=problems.get(name.upper(), ""),
        )
        for name, field in settings_class.model_fields.items()
    ]


async def check(probes: Mapping[str, Check]) -> list[Checked]:
    """Ask everything at once, each for `CHECK_TIMEOUT_S` at most."""

    async def run_check(name: str, probe: Check) -> Checked:
        try:
            async with asyncio.timeout(CHECK_TIMEOUT_S):
                await probe()
        except TimeoutError:
            return Checked(name=name, problem=f"no answer within {CHECK_TIMEOUT_S:.0f} s")
        except ContextKeepError as error:
            return Checked(name=name, problem=error.message)
        except SystemExit as error:  # of a setting that nothing works without
            return Checked(name=name, problem=str(error))
        except Exception as error:  # of any kind: the other checks are reported as well
            return Checked(name=name, problem=f"{type(error).__name__}: {error}")
        return Checked(name=name)

    return list(await asyncio.gather(*(run_check(name, probe) for name, probe in probes.items())))


def show(settings: list[Setting], checked: list[Checked], *, as_json: bool) -> int:
    """Print the settings and the checks; return 1 if something is wrong."""
    wrong = [
        problem
        for problem in (*(setting.problem for setting in settings), *(check.problem for check in checked))
        if problem
    ]
    console = Console(soft_wrap=as_json)
    if as_json:
        console.print_json(
            json.dumps(
                {"settings": [asdict(setting) for setting in settings], "checks": [asdict(check) for check in checked]}
            )
        )
        return int(bool(wrong))
    table = Table(box=None, pad_edge=False)
    for header in ("variable", "value", "from", "meaning"):
        table.add_column(header, overflow="fold", no_wrap=header == "variable")
    for setting in settings:
        if setting.name:
            style = "red" if setting.problem else "" if setting.is_set else "dim"
            origin = "environment" if setting.is_set else "default"
            table.add_row(setting.name, escape(setting.value) or "-", origin, escape(setting.meaning), style=style)
    print_table(table)
    console.print()
    problems = [(setting.name, setting.problem) for setting in settings if setting.problem]
    for name, problem in problems + [(check.name, check.problem) for check in checked]:
        mark = "[red]wrong[/]" if problem else "[green]ok[/]   "
        text = ": ".join(part for part in (name, problem) if part)
        console.print(f"{mark}  {escape(text)}", highlight=False, soft_wrap=True)
    if wrong:
        console.print(f"[red]{len(wrong)} to mend[/]")
    elif not checked:
        console.print("the settings are valid by themselves; no dependency was called")
    return int(bool(wrong))


def _display(value: object) -> str:
    if isinstance(value, SecretStr):
        return str(value)  # asterisks, or nothing
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _unread(name: str, field: FieldInfo) -> str:
    """Return the value of a variable, or its default, where the settings as a whole are invalid."""
    value = os.environ.get(name.upper(), "")
    if not value:
        return _display(field.get_default(call_default_factory=True, validated_data={}))
    return "*" * 10 if "SecretStr" in str(field.annotation) else value
