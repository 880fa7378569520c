"""The code that both servers share: life cycle, interceptors, Postgres, migrations, page tokens.

The first line of each folder says what it has. A folder imports only folders below it: `pyproject.toml` has the order.
"""

from __future__ import annotations

import os

# gRPC reads this when it is imported. Its handlers of `fork` run in each child that uvloop starts, before the child's
# own program: they hold up all calls of this process, and some children die in them of signal 11.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
