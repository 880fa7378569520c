"""Generated from the protos: messages and stubs."""
