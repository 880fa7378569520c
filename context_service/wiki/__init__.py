"""Wiki: pages of a user, put whole, version by version."""
