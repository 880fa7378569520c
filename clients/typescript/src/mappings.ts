/** The mappings of an app, gathered where they are written and registered when it starts. */

import type { Mapping } from "./_gen/chat-history.js";
import type { CallOptions } from "./client.js";
import type { ContextClient } from "./context.js";
import type { MappingRules } from "./history.js";

/** How a mapping is registered; see `mappings.register`. */
interface Registration {
  rulesVersion?: number;
  replace?: boolean;
}

export class MappingRegistry {
  private readonly mappings = new Map<string, [MappingRules, Registration]>();

  /**
   * Remember rules under a name; those that the name had are forgotten. Nothing is sent.
   *
   * @param options As of `mappings.register`; a `rulesVersion` that grows with the rules is what rolling deployments need.
   */
  register(
    mappingName: string,
    rules: MappingRules,
    options: Registration = {},
  ): this {
    this.mappings.set(mappingName, [rules, options]);
    return this;
  }

  /**
   * Register all of them in an app, in their order, and return what the names have now. The same rules again are free, so an app
   * does this at every start.
   *
   * @throws ContextKeepError As of `mappings.register`, for the first that fails; those before it are registered.
   */
  async apply(client: ContextClient, options: { appId?: string } & CallOptions = {}): Promise<Mapping[]> {
    const registered: Mapping[] = [];
    for (const [mappingName, [rules, registration]] of this.mappings) {
      registered.push(await client.mappings.register(mappingName, rules, { ...options, ...registration }));
    }
    return registered;
  }
}
