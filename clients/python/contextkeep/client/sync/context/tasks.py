# Generated from aio/context/tasks.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Tasks: work within a context."""

from __future__ import annotations

from contextkeep.client.sync._gen import tasks as gen
from contextkeep.client.sync.context.message_files import WithUploads


class Tasks(WithUploads, gen.Tasks):
    """The calls about tasks. A large file of a status message is uploaded first."""
