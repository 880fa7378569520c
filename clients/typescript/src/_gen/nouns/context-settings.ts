// Made from the protos by `make proto`.

import * as contextSettingsPb from "../../gen/contextkeep/context/v1/context_settings_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { enumInput } from "../../messages.js";
import { Noun } from "../../noun.js";
import { type WriteOptions, requestId } from "../../writes.js";
import { type AppliedSettings, type ContextSetting, appliedSettingsOf, contextSettingOf } from "../context-settings.js";

/** Options of `contextSettings.put`. */
export interface ContextSettingsPutOptions {
  /** The app whose contexts the setting is for. Empty, without an agent either: the whole tenant. */
  appId?: string;
  /** The agent (`agentId` of messages) in whose contexts the setting applies. */
  agentId?: string;
  /** Whether texts of these contexts may be sent to a model. */
  models?: "on" | "off";
  /**
   * Whether contexts.find, and queries about a user's own contexts, find these contexts. Unset: as the wider settings
   * say.
   */
  isFindable?: boolean;
  /** How the service learns memories from messages that are sent after this. Unset: as the wider settings say. */
  learning?: "off" | "rules" | "model";
}

/** The calls of `contextSettings` that are one method each. */
export class ContextSettings extends Noun<AppClient> {
  /**
   * Set what the service may do with the contexts of the tenant, of an app, or of an agent. It replaces the setting,
   * and applies to everything that begins after it, also for contexts that exist. Needs the scope `admin`.
   *
   * Throws InvalidArgument (an app and an agent at once), LimitExceeded (limit `context_settings`: 10,000 per
   * tenant), PermissionDenied (the scope is missing; the key is bound), RequestIdReused.
   */
  async put(options: ContextSettingsPutOptions & WriteOptions = {}): Promise<ContextSetting> {
    const request = {
      appId: options.appId,
      agentId: options.agentId,
      models: enumInput("models", options.models, contextSettingsPb.ModelUse),
      requestId: requestId(options),
      isFindable: options.isFindable,
      learning: enumInput("learning", options.learning, contextSettingsPb.LearningMode),
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
