"""The functions and operators of CEL, with their costs."""
