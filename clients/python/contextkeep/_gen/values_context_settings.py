"""Values of contextkeep/context/v1/context_settings.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from contextkeep._gen.values_message import Imported
from contextkeep.context.v1 import context_settings_pb2 as pb
from contextkeep.values.base import Value, time_of

# Whether texts of contexts may be sent to the language model of the operator (LLM_URL), for folds and answers.
ModelUse = Literal[
    "on",
    "off",
]
MODEL_USES: dict[int, ModelUse] = {
    1: "on",
    2: "off",
}
# How the service learns memories about the owner of a context from its messages.
LearningMode = Literal[
    "off",
    "rules",
    "model",
]
LEARNING_MODES: dict[int, LearningMode] = {
    1: "off",
    2: "rules",
    3: "model",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ContextSetting(Value):
    """The setting of a tenant, an app or an agent."""

    # The app. Empty, without an agent either: the whole tenant.
    app_id: str = ""
    agent_id: str = ""
    models: ModelUse | Literal[""] = ""
    updated_at: datetime
    # The subject of the credential that put it last.
    updated_by: str = ""
    # Where an import took it from. Unset: no import wrote it, or it was put since.
    imported: Imported | None = None
    # Whether SearchContexts finds the contexts. Unset: as the wider settings say.
    is_findable: bool | None = None
    # How the service learns from the contexts. Unset: as the wider settings say.
    learning: LearningMode | Literal[""] = ""

    @classmethod
    def from_proto(cls, message: pb.ContextSetting) -> ContextSetting:
        """Return the value of a message."""
        return cls(
            app_id=message.app_id,
            agent_id=message.agent_id,
            models=MODEL_USES.get(message.models, ""),
            updated_at=time_of(message.updated_at),
            updated_by=message.updated_by,
            imported=Imported.from_proto(message.imported) if message.HasField("imported") else None,
            is_findable=message.is_findable if message.HasField("is_findable") else None,
            learning=LEARNING_MODES.get(message.learning, ""),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AppliedSettings(Value):
    """The settings that apply to the contexts of an app and an agent."""

    # Those that were put: of the tenant, of the app, of the agent.
    settings: tuple[ContextSetting, ...] = ()
    # What they come to for a context that has no setting of its own: ON or OFF.
    models: ModelUse | Literal[""] = ""
    # Whether such a context is findable.
    is_findable: bool = False
    # How the service learns from such a context: OFF, RULES or MODEL.
    learning: LearningMode | Literal[""] = ""

    @classmethod
    def from_proto(cls, message: pb.GetContextSettingsResponse) -> AppliedSettings:
        """Return the value of a message."""
        return cls(
            settings=tuple(map(ContextSetting.from_proto, message.settings)),
            models=MODEL_USES.get(message.models, ""),
            is_findable=message.is_findable,
            learning=LEARNING_MODES.get(message.learning, ""),
        )
