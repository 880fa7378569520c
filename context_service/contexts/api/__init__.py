"""Servicers of contexts: parse, one call, render."""
