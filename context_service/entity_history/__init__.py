"""All that happened to an entity, from where each thing is kept: above the rooms that it asks."""
