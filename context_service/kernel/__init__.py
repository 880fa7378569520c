"""Shared code of all rooms: the client of the graph, parts of messages, tokens, models, CEL and rendering."""
