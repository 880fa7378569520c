"""The limits on the size of mappings, and on the cost of reading a history."""

from __future__ import annotations

from dataclasses import dataclass

from context_service.kernel.cel import CallBudget, CompileBudget, ExpressionLimits

KIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLimits:
    """The limits of mappings and of their evaluation, from the settings."""

    name_chars_max: int = 128  # length of the names of mappings, apps, and types
    mapping_bytes_max: int = 256 * KIB  # size of all rules of a mapping, as JSON
    rules_max: int = 32  # message rules of a mapping
    mappings_max: int = 200  # mappings of each app
    depth_max: int = 100  # depth of a mapping's walk
    types_max: int = 1000  # edge types, and entity types, of a mapping
    sample_bytes_max: int = 1024 * KIB  # size of each JSON document of a sample node
    sample_nesting_max: int = 100
    sample_chars_max: int = 512  # length of the sample's other fields
    expression: ExpressionLimits = ExpressionLimits()
    symbols_max: int = 10_000  # symbols in all expressions of a mapping; it compiles in half a second at most
    evaluation_steps_max: int = 10_000
    evaluation_bytes_max: int = 1024 * KIB
    call_steps_max: int = 50_000_000

    def compile_budget(self, *, gives_way: bool = False) -> CompileBudget:
        """Return a new budget for compiling the expressions of one mapping."""
        return CompileBudget(symbols_max=self.symbols_max, expression=self.expression, gives_way=gives_way)

    def call_budget(self) -> CallBudget:
        """Return a new budget for evaluating expressions in one call."""
        return CallBudget(
            steps_max=self.call_steps_max,
            evaluation_steps_max=self.evaluation_steps_max,
            evaluation_bytes_max=self.evaluation_bytes_max,
        )


DEFAULTS = HistoryLimits()
