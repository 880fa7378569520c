"""The commands that both services have, and what they share."""
