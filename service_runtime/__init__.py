"""The code that both servers share: life cycle, interceptors, Postgres, migrations, page tokens.

The first line of each folder says what it has. A folder imports only folders below it: `pyproject.toml` has the order.
"""
