"""Knowledge: what is known beyond one conversation."""
