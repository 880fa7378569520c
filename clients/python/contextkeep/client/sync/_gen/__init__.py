# Generated from aio/_gen/__init__.py by tools/make_sync.py: change that file and run `make sync-client`.
"""The calls of all nouns, made by `make proto`: see `proto/generator/python_calls.py`."""
