"""What every room stands on: the client of the graph, parts of messages, tokens, models, CEL and rendering."""
