"""The calls of context_settings that are one RPC each, made by `make proto`."""

from __future__ import annotations


from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import context_settings_pb2 as context_settings_pb
from contextkeep.values import AppliedSettings, ContextSetting, LearningMode, ModelUse


class ContextSettings(Noun):
    """Settings for contexts: what the service may do with those of a tenant, an app or an agent."""

    async def put(
        self,
        *,
        app_id: str = "",
        agent_id: str = "",
        models: ModelUse | None = None,
        is_findable: bool | None = None,
        learning: LearningMode | None = None,
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> ContextSetting:
        """Set what the service may do with the contexts of the tenant, of an app, or of an agent.

        It replaces the setting, and applies to everything that begins after it, also for contexts that exist. Needs the
        scope `admin`.

        Args:
            app_id: The app whose contexts the setting is for. Empty, without an agent either: the whole tenant.
            agent_id: The agent (`agent_id` of messages) in whose contexts the setting applies.
            models: Whether texts of these contexts may be sent to a model.
            is_findable: Whether `contexts.find`, and queries about a user's own contexts, find these contexts. None: as
                the wider settings say.
            learning: How the service learns memories from messages that are sent after this. None: as the wider
                settings say.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: an app and an agent at once.
            LimitExceeded: limit `context_settings`: 10,000 per tenant.
            PermissionDenied: the scope is missing; the key is bound.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = context_settings_pb.PutContextSettingRequest(
            app_id=app_id,
            agent_id=agent_id,
            models=messages.choice_of("models", models, context_settings_pb.ModelUse),
            request_id=messages.new_request_id(request_id),
            is_findable=is_findable,
            learning=messages.choice_of("learning", learning, context_settings_pb.LearningMode),
        )
        answer: context_settings_pb.PutContextSettingResponse = await self._call(
            "PutContextSetting", request, timeout_s=timeout_s
        )
        return ContextSetting.from_proto(answer.setting)

    async def get(self, *, app_id: str = "", agent_id: str = "", timeout_s: float | None = None) -> AppliedSettings:
        """Read the settings that apply to the contexts of an app and an agent, and the outcome.

        Args:
            app_id: Also the setting of this app.
            agent_id: Also the setting of this agent.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
        """
        request = context_settings_pb.GetContextSettingsRequest(app_id=app_id, agent_id=agent_id)
        answer: context_settings_pb.GetContextSettingsResponse = await self._call(
            "GetContextSettings", request, timeout_s=timeout_s
        )
        return AppliedSettings.from_proto(answer)
