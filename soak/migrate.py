"""Migrates a database, as both services do at their start: a process to be killed."""

from __future__ import annotations

import os

from service_runtime.databases.embedded_postgres import SERVICE_ROLE
from service_runtime.databases.migrate import migrate
from soak.stack import EVERYTHING

if __name__ == "__main__":
    migrate(os.environ["DATABASE_ADMIN_URL"], EVERYTHING, service_role=SERVICE_ROLE)
