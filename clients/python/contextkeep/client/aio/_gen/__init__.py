"""The calls of all nouns, made by `make proto`: see `proto/generator/python_calls.py`."""
