"""Chat history: messages read off the entity graph by a mapping."""
