"""SQL of wiki."""
