"""Servicers of operations: parse, one call, render."""
