"""Texts of messages: who wrote them, which lines can be quoted, and what they name. Values in, values out."""
