"""Counts the tokens that a text has for a model: exactly with OpenAI's tokenizers if installed, else by an estimate."""

from context_service.kernel.tokens.calibration import Calibration, calibrated, countable, is_believed
from context_service.kernel.tokens.counting import FAMILIES, Family, TokenCounter, is_exact

__all__ = ["FAMILIES", "Calibration", "Family", "TokenCounter", "calibrated", "countable", "is_believed", "is_exact"]
