"""Context windows: what one model shall see of a context's log, within a budget of tokens, whatever its length."""
