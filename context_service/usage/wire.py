"""Renders statistics and estimates of windows as protobuf messages."""

from __future__ import annotations

from context_service.kernel.tokens import is_exact
from context_service.usage.model import Usage
from context_service.usage.pure.costs import MILLION, Cost
from context_service.usage.pure.prices import DEFAULT, Prices
from context_service.usage.rules.statistics import Estimate, WindowStatistics
from contextkeep.context.v1 import context_windows_pb2 as pb
from service_runtime.values.copying import copied


def estimate_response(estimate: Estimate) -> pb.EstimateCostResponse:
    """Return the protobuf answer of `EstimateCost`."""

    def cost(counted_cost: Cost) -> pb.PackCost:
        return _cost(counted_cost, estimate.prices, estimate.factor)

    return pb.EstimateCostResponse(
        warm=cost(estimate.warm),
        cold=cost(estimate.cold),
        fold=cost(estimate.fold),
        ahead=cost(estimate.ahead.cost),
        folds=estimate.ahead.folds,
        sliding=cost(estimate.sliding.cost),
        step_tokens=estimate.step_tokens,
        typical_factor=estimate.factor,
    )


def statistics_response(statistics: WindowStatistics, *, zones: pb.PackZones) -> pb.WindowStatsResponse:
    """Return the protobuf answer of `WindowStats`."""
    window, predicted = statistics.window, statistics.predicted
    prices, factor = window.config.prices, statistics.calibration.typical
    return pb.WindowStatsResponse(
        step_count=window.step_count,
        log_tokens=statistics.log_tokens,
        tokens=statistics.zones.all,
        tokens_by_zone=zones,
        levels=[
            copied(
                pb.LevelStats,
                level,
                step_count=level.steps,
                ratio=level.log_tokens / level.tokens if level.tokens else 0,
            )
            for level in statistics.levels
        ],
        savings=statistics.savings,
        breaks=[pb.BreakCount(reason=reason, count=count) for reason, count in sorted(statistics.breaks.items())],
        predicted=_cost(predicted, prices, factor),
        predicted_cached_share=predicted.read / predicted.tokens if predicted.tokens else 0,
        usage=_usage(statistics.usage, prices),
        token_factor=window.token_factor,
        typical_factor=factor,
        tokens_are_estimated=not is_exact(window.tokens_family),
    )


def _cost(cost: Cost, prices: Prices, factor: float) -> pb.PackCost:
    """Return a cost in counted tokens as a protobuf message in billed tokens; `factor` converts them."""
    billed_cost = Cost(round(cost.read * factor), round(cost.written * factor))
    return pb.PackCost(
        read_tokens=billed_cost.read,
        written_tokens=billed_cost.written,
        base_tokens=billed_cost.base_tokens,
        price=billed_cost.price(prices),
    )


def _usage(usage: Usage, prices: Prices) -> pb.WindowUsage:
    """Return the sum of bills as a protobuf message, with its price."""
    cached = Cost(usage.cached_tokens, usage.cache_write_tokens)
    plain = usage.input_tokens - cached.tokens
    return copied(
        pb.WindowUsage,
        usage,
        call_count=usage.calls,
        cached_share=usage.cached_tokens / usage.input_tokens if usage.input_tokens else 0,
        base_tokens=cached.base_tokens + plain * DEFAULT.input,
        price=cached.price(prices) + (plain * prices.input + usage.output_tokens * prices.output) / MILLION,
    )
