// Made from contextkeep/context/v1/context_settings.proto by `make proto`.

import * as pb from "../gen/contextkeep/context/v1/context_settings_pb.js";
import { enumText } from "../messages.js";
import { timeText } from "../times.js";
import { type Imported, importedOf } from "./message.js";

/** The setting of a tenant, an app or an agent. */
export interface ContextSetting {
  /** The app. Empty, without an agent either: the whole tenant. */
  appId: string;
  agentId: string;
  models: "on" | "off" | "unknown";
  updatedAt: string;
  /** The subject of the credential that put it last. */
  updatedBy: string;
  /** Where an import took it from. Unset: no import wrote it, or it was put since. */
  imported?: Imported;
  /** Whether contexts.find finds the contexts. Unset: as the wider settings say. */
  isFindable?: boolean;
  /** How the service learns from the contexts. Unset: as the wider settings say. */
  learning: "off" | "rules" | "model" | "unknown";
}

export function contextSettingOf(message: pb.ContextSetting): ContextSetting {
  const value: ContextSetting = {
    appId: message.appId,
    agentId: message.agentId,
    models: enumText(pb.ModelUse, message.models),
    updatedAt: timeText(message.updatedAt),
    updatedBy: message.updatedBy,
    learning: enumText(pb.LearningMode, message.learning),
  };
  if (message.imported !== undefined) value.imported = importedOf(message.imported);
  if (message.isFindable !== undefined) value.isFindable = message.isFindable;
  return value;
}

/** The settings that apply to the contexts of an app and an agent. */
export interface AppliedSettings {
  /** Those that were put: of the tenant, of the app, of the agent. */
  settings: ContextSetting[];
  /** What they come to for a context that has no setting of its own: ON or OFF. */
  models: "on" | "off" | "unknown";
  /** Whether such a context is findable. */
  isFindable: boolean;
  /** How the service learns from such a context: OFF, RULES or MODEL. */
  learning: "off" | "rules" | "model" | "unknown";
}

export function appliedSettingsOf(message: pb.GetContextSettingsResponse): AppliedSettings {
  return {
    settings: message.settings.map(contextSettingOf),
    models: enumText(pb.ModelUse, message.models),
    isFindable: message.isFindable,
    learning: enumText(pb.LearningMode, message.learning),
  };
}
