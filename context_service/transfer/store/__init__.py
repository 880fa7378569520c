"""SQL of transfer."""
