"""The servicers of the room: `query` and `source_tests`."""
