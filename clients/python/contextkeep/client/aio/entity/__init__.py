"""The client of the Entity Service. Each RPC is a method of a noun, in the module of that noun."""

from __future__ import annotations

from contextkeep.client import _aio_io as io
from contextkeep.client import _base as base
from contextkeep.client.aio._gen.changes import Changes
from contextkeep.client.aio._gen.progress import Progress
from contextkeep.client.aio.client import AsyncClient, NounOf
from contextkeep.client.aio.entity.embeddings import Embeddings
from contextkeep.client.aio.entity.graph import Graph
from contextkeep.client.aio.observing import Observed
from contextkeep.context.v1.observing_pb2_grpc import ObservingStub
from contextkeep.entity.v1.entity_graph_pb2_grpc import EntityGraphStub


class AsyncEntityClient(AsyncClient):
    """The entity graph, nodes and typed edges: a noun for each kind of thing, `client.graph.get_node(node_id)`.

    The channel is opened by the first call and closed by `close` or the `with` block. An async client belongs to one
    event loop; a sync client may be shared by threads. Neither survives a fork: make clients in the child.

    Args:
        address: `host:port`, `http://host:port` or `https://host[:port]`. Default: `ENTITY_SERVICE_ADDRESS`, or
            127.0.0.1:50052.
        api_key: None: `CONTEXT_SERVICE_API_KEY`, else the key of a stack that `make run` runs there. Empty: send no
            key.
        timeout_s: Deadline of a unary call, its retries included.
        idle_timeout_s: Seconds after which a stream fails if no data arrive.
        retries: Attempts after the first, for calls that failed with `Unavailable` and may be repeated. 0 means none.
        root_certificates: PEM of the authorities to trust for `https://`. Default: grpc's own list.
        client_certificate: Certificate chain and private key, PEM, for servers that ask for one.

    Raises:
        InvalidArgument: the address, the key or a number is malformed.
    """

    graph = NounOf(Graph)
    progress = NounOf(Progress)
    embeddings = NounOf(Embeddings)
    changes = NounOf(Changes)
    operations = NounOf(Observed)

    def __init__(
        self,
        address: str | None = None,
        *,
        api_key: str | None = None,
        timeout_s: float = base.TIMEOUT_S,
        idle_timeout_s: float = base.IDLE_TIMEOUT_S,
        retries: int = base.RETRIES,
        root_certificates: bytes | None = None,
        client_certificate: tuple[bytes, bytes] | None = None,
    ) -> None:
        result = base.address_of(address, variable=base.ENTITY_ADDRESS_VARIABLE, default=base.ENTITY_ADDRESS_DEFAULT)
        result, credential = base.credential_of(api_key, result)
        connection = io.Connection(
            result,
            service="entity-service",
            stubs=[EntityGraphStub, ObservingStub],
            root_certificates=root_certificates,
            client_certificate=client_certificate,
        )
        options = base.options_of(
            credential=credential, app_id=None, timeout_s=timeout_s, idle_timeout_s=idle_timeout_s, retries=retries
        )
        super().__init__(connection, options)
