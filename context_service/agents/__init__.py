"""Agents and their templates: whom context query may ask for an agent."""
