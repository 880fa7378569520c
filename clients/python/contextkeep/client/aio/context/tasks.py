"""Tasks: work within a context."""

from __future__ import annotations

from contextkeep.client.aio._gen import tasks as gen
from contextkeep.client.aio.context.message_files import WithUploads


class Tasks(WithUploads, gen.Tasks):
    """The calls about tasks. A large file of a status message is uploaded first."""
