"""The clients: `aio` is written by hand, `sync` is generated from it."""
