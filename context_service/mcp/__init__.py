"""Tools and resources for agents' models: another way to the RPCs, with no logic of its own."""
