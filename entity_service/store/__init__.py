"""The only package that runs SQL."""
