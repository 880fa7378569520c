"""The code that both servers share: life cycle, interceptors, Postgres, migrations, page tokens."""
