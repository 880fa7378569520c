// Made from the protos by `make proto`.

import * as chatHistoryPb from "../../gen/contextkeep/context/v1/chat_history_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { type Mapping, mappingOf } from "../chat-history.js";

/** The calls of `mappings` that are one method each. */
export class GeneratedMappings extends Noun<AppClient> {
  /**
   * Lists the mappings that the caller sees, by app and name. Those of the service's files and the built-in ones come last. Reasons:
   * InvalidPageToken.
   *
   * @param options.appId Empty: every app that the caller sees, and the shared scope.
   * @param options.pageSize 0: 100. More than 1,000 counts as 1,000.
   */
  list(options: { appId?: string; pageSize?: number } & CallOptions = {}): Rows<Mapping> {
    const request = {
      appId: options.appId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(chatHistoryPb.ChatHistory.method.listMappings, { ...request, pageToken }, options);
        return [page.mappings.map(mappingOf), page.nextPageToken];
      }),
    );
  }
}
