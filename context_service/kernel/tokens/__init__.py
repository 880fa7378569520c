"""How many tokens a text has for a model: by OpenAI's tokenizers where they are installed, else about."""

from context_service.kernel.tokens.calibration import Calibration, calibrated, countable, is_believed
from context_service.kernel.tokens.counting import FAMILIES, Family, TokenCounter, is_exact

__all__ = ["FAMILIES", "Calibration", "Family", "TokenCounter", "calibrated", "countable", "is_believed", "is_exact"]
