"""Contexts: isolated conversations, their log, and the rules of writing and reading it."""
