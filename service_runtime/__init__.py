"""What any server of ours needs: life cycle, interceptors, Postgres, migrations, page tokens."""
