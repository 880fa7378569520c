"""Summaries for prompts: of a user, and of a conversation."""
