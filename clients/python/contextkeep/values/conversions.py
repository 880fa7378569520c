"""How messages are read that are no values by themselves."""

from __future__ import annotations

import json

from google.protobuf.json_format import MessageToDict

from contextkeep.context.v1 import chat_history_pb2 as history_pb
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.context.v1 import contexts_pb2 as contexts_pb
from contextkeep.context.v1 import definitions_pb2 as definitions_pb
from contextkeep.inputs import ExternalId

# What a pack is made of, the most stable first.
ZONES = ("system", "pins", "note", "conversation", "digests", "segments", "state", "masked", "verbatim", "recalled")


def tokens_by_zone(zones: windows_pb.PackZones) -> dict[str, int]:
    """Return the tokens of the zones that have some, by the zone's name, in the order of `ZONES`."""
    return {zone: tokens for zone in ZONES if (tokens := getattr(zones, zone))}


def external_id(message: contexts_pb.ExternalId) -> ExternalId:
    """Return the value of an external id."""
    return ExternalId(message.system, message.id)


def mapping_rules_json(rules: history_pb.MappingRules) -> str:
    """Return the rules of a mapping as `mappings.register` takes them."""
    return json.dumps(MessageToDict(rules, preserving_proto_field_name=True), ensure_ascii=False)


def definition_rules_json(rules: definitions_pb.DefinitionRules) -> str:
    """Return the rules of a definition as `definitions.put` takes them."""
    plain = MessageToDict(rules, preserving_proto_field_name=True)
    for facet in plain.get("facets", ()):
        facet["kind"] = facet["kind"].removeprefix("FACET_KIND_").lower()
    return json.dumps(plain, ensure_ascii=False)
