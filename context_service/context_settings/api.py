"""The proto service `ContextSettings`: parse, one call, render."""

from __future__ import annotations

from context_service.context_settings.model import ContextSetting
from context_service.context_settings.rules import ContextSettings
from context_service.kernel.wire import learning_mode
from context_service.kernel.wire.imported import imported_of
from context_service.kernel.wire.model_use import number_of, text_of
from contextkeep.context.v1 import context_settings_pb2 as pb
from contextkeep.context.v1 import context_settings_pb2_grpc
from service_runtime.rpc import calls
from service_runtime.statements.requests import request_of
from service_runtime.values.copying import copied


class ContextSettingsServicer(context_settings_pb2_grpc.ContextSettingsServicer):
    """Answers the RPCs of `ContextSettings`."""

    def __init__(self, settings: ContextSettings) -> None:
        self._settings = settings

    async def PutContextSetting(
        self, request: pb.PutContextSettingRequest, context: object
    ) -> pb.PutContextSettingResponse:
        """Replace a setting."""

        def response(setting: ContextSetting) -> pb.PutContextSettingResponse:
            return pb.PutContextSettingResponse(setting=_setting(setting))

        setting = await self._settings.put(
            request.app_id,
            request.agent_id,
            models=text_of("models", request.models),
            learning=learning_mode.text_of("learning", request.learning),
            is_findable=request.is_findable if request.HasField("is_findable") else None,
            principal=calls.principal(),
            request=request_of("PutContextSetting", request, response=response),
        )
        return response(setting)

    async def GetContextSettings(
        self, request: pb.GetContextSettingsRequest, context: object
    ) -> pb.GetContextSettingsResponse:
        """Read the settings that apply to contexts of an app and an agent."""
        settings, models, is_findable, learning = await self._settings.applying(
            request.app_id, request.agent_id, principal=calls.principal()
        )
        return pb.GetContextSettingsResponse(
            settings=map(_setting, settings),
            models=number_of(models),
            is_findable=is_findable,
            learning=learning_mode.number_of(learning),
        )


def _setting(setting: ContextSetting) -> pb.ContextSetting:
    return copied(
        pb.ContextSetting,
        setting,
        models=number_of(setting.models),
        learning=learning_mode.number_of(setting.learning),
        imported=imported_of(setting.imported_json),
    )
