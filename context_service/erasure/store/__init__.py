"""SQL of erased subjects and of legal holds."""
