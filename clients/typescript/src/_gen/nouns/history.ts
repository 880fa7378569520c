// Made from the protos by `make proto`.

import * as chatHistoryPb from "../../gen/contextkeep/context/v1/chat_history_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { type NodeName, nameFields } from "../../names.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { type HistoryEvent, historyEventOf } from "../chat-history.js";

/** The calls of `history` that are one method each. */
export class GeneratedHistory extends Noun<AppClient> {
  /**
   * Lists all that happened to an entity, by time. This is the history of its node, its status and the rest of its timeline, its edges in
   * both directions, and its working memory records, purged ones too.
   *
   * Nothing is kept for it but what is kept anyway. So of the changes of a node only the last is known, an edge that was deleted is gone
   * from it, and so is a timeline that was cleared. It may be asked for a node that is not there, or no longer, if there ever was a
   * record of it.
   *
   * Throws NodeNotFound, InvalidPageToken.
   *
   * @param nodeId Of the entity.
   * @param options.descending The newest first.
   * @param options.pageSize 0: 100. More than 1,000 counts as 1,000.
   */
  listEvents(
    nodeId: NodeName,
    options: { descending?: boolean; pageSize?: number } & CallOptions = {},
  ): Rows<HistoryEvent> {
    const request = {
      ...(nodeId !== undefined && nameFields("nodeId", nodeId)),
      descending: options.descending,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(chatHistoryPb.ChatHistory.method.fetchEntityHistory, { ...request, pageToken }, options);
        return [page.events.map(historyEventOf), page.nextPageToken];
      }),
    );
  }
}
