"""The databases of an operator: migrations, where each tenant lives, moves between them, and one for development."""
