"""Translations between protobuf and Python that several rooms use."""
