"""Translations between protobuf and the values of history."""
