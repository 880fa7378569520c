"""A change of the data of a node or an edge."""

from __future__ import annotations

from entity_service.model.nodes import DataChange
from entity_service.pure.merge_patch import merge_patch
from service_runtime.inputs.documents import beside_the_loop, check_containers
from service_runtime.values.checks import check_size


async def changed_data(data_json: str, change: DataChange, *, size_bytes_max: int) -> str:
    """Return a document after a change.

    Raises:
        LimitExceeded: the changed data are too large.
    """
    if change.replace:
        return change.data_json
    size_bytes = len(data_json) + len(change.data_json)
    changed = await beside_the_loop(size_bytes, merge_patch, data_json, change.data_json)
    check_size("data_json", changed, size_bytes_max=size_bytes_max)
    check_containers("data_json", changed)
    return changed
