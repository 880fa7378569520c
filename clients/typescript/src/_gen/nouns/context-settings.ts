// Made from the protos by `make proto`.

import * as contextSettingsPb from "../../gen/contextkeep/context/v1/context_settings_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { enumInput } from "../../messages.js";
import { Noun } from "../../noun.js";
import { type WriteOptions, requestId } from "../../writes.js";
import { type AppliedSettings, type ContextSetting, appliedSettingsOf, contextSettingOf } from "../context-settings.js";

/** The calls of `contextSettings` that are one method each. */
export class ContextSettings extends Noun<AppClient> {
  /**
   * Set what the service may do with the contexts of the tenant, of an app, or of an agent. It replaces the setting,
   * and applies to everything that begins after it, also for contexts that exist. Needs the scope `admin`.
   *
   * Throws InvalidArgument (an app and an agent at once), LimitExceeded (limit `context_settings`: 10,000 per
   * tenant), PermissionDenied (the scope is missing; the key is bound), RequestIdReused.
   *
   * @param options.appId The app whose contexts the setting is for. Empty, without an agent either: the whole tenant.
   * @param options.agentId The agent (`agentId` of messages) in whose contexts the setting applies.
   * @param options.models Whether texts of these contexts may be sent to a model.
   * @param options.isFindable Whether contexts.find, and queries about a user's own contexts, find these contexts. Unset: as the wider settings say.
   */
  async put(options: { appId?: string; agentId?: string; models?: "on" | "off"; isFindable?: boolean } & WriteOptions = {}): Promise<ContextSetting> {
    const request = {
      appId: options.appId,
      agentId: options.agentId,
      models: enumInput("models", options.models, contextSettingsPb.ModelUse),
      requestId: requestId(options),
      isFindable: options.isFindable,
    };
    const answer = await this.client.call(contextSettingsPb.ContextSettings.method.putContextSetting, request, options);
    return contextSettingOf(answer.setting!);
  }

  /**
   * Read the settings that apply to the contexts of an app and an agent, and the outcome.
   *
   * Throws InvalidArgument.
   *
   * @param options.appId Also the setting of this app.
   * @param options.agentId Also the setting of this agent.
   */
  async get(options: { appId?: string; agentId?: string } & CallOptions = {}): Promise<AppliedSettings> {
    const request = {
      appId: options.appId,
      agentId: options.agentId,
    };
    const answer = await this.client.call(contextSettingsPb.ContextSettings.method.getContextSettings, request, options);
    return appliedSettingsOf(answer);
  }
}
