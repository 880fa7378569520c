"""The queue of windows whose next fold a model prepares."""
