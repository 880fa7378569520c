"""Write the part of docs/limits.md about the fields of requests, from the rules in the protos; the rest stays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from model import Field, Message, Model

_BEGIN, _END = "<!-- Made from the protos by `make proto`. -->\n", "<!-- The end of the generated part. -->\n"

_UNITS = {"characters": "_CHARS_MAX", "bytes": "_BYTES_MAX"}


def page(before: str, model: Model, defaults: Mapping[str, object]) -> str:
    """Return the page with a new table of fields.

    Args:
        before: The page, with an older table.
        model: The protos.
        defaults: Of settings, by their names.
    """
    head, _, rest = before.partition(_BEGIN)
    _, _, tail = rest.partition(_END)
    return "".join([head, _BEGIN, "\n", *(f"{line}\n" for line in _table(model, defaults)), "\n", _END, tail])


def _table(model: Model, defaults: Mapping[str, object]) -> Iterator[str]:
    yield "| message | fields |"
    yield "| --- | --- |"
    for message in _of_requests(model):
        rules = [
            f"`{field.name}`: {'; '.join(result)}" for field in message.fields if (result := _rule(field, defaults))
        ]
        if rules:
            yield f"| `{message.full_name.split('.v1.')[1]}` | {'<br>'.join(rules)} |"


def _of_requests(model: Model) -> Sequence[Message]:
    """Return the messages of requests, in the order of the protos."""
    items: set[str] = set()
    left = [rpc.request.full_name for rpc in model.rpcs]
    while left:
        name = left.pop()
        if name in model.messages and name not in items:
            items.add(name)
            left += [field.type_name for field in model.messages[name].fields]
    return [message for name, message in model.messages.items() if name in items]


def _unit(setting: str) -> str:
    return next((f" {unit}" for unit, end in _UNITS.items() if setting.endswith(end)), "")


def _rule(field: Field, defaults: Mapping[str, object]) -> list[str]:
    """Return what the value of a field must be, in words."""
    rule = field.rule
    result = ["required"] if rule.required else []
    each = "each " if field.is_repeated else ""
    result += ["UUIDs" if field.is_repeated else "a UUID"] if rule.id else []
    result += ["JSON"] if rule.json else []
    result += [f"`{name}` ({defaults[name]:,}{_unit(name)})" for name in rule.limit]
    for value, unit in (
        (rule.items_max, "items"),
        (rule.chars_max, "characters"),
        (rule.bytes_max, "bytes"),
        (rule.value_max, ""),
    ):
        if value:
            result.append(f"{each if unit != 'items' else ''}at most {value:,} {unit}".rstrip())
    return result
