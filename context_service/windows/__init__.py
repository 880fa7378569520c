"""Context windows: open, read, update and close what one model sees of a context's log, and look up its refs."""
