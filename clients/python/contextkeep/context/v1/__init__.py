"""Generated from the protos of version 1."""
