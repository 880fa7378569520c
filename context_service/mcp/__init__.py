"""Tools and resources for agents' models: another door to the RPCs, with no logic of its own."""
