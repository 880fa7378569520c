"""The soak: everything is killed at random moments while it is written to, and nothing acknowledged may be lost."""
