"""How many tokens a text has for a model: by OpenAI's tokenizers where they are installed, else about."""

from context_service.tokens.calibration import Calibration
from context_service.tokens.counting import FAMILIES, Family, TokenCounter

__all__ = ["FAMILIES", "Calibration", "Family", "TokenCounter"]
