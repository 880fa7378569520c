"""One module per proto service: parse, one call, render."""
