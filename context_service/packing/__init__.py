"""Packing: what a model sees of a window now, within a budget of tokens."""
