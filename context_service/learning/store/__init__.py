"""Stores of learning."""
