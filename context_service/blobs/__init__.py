"""Object storage: one portable type over one small backend a provider."""
