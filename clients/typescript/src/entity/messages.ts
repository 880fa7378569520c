/** Messages of a conversation, one by one. */

import { InvalidArgument } from "../gen/errors.js";
import { rowId } from "../ids.js";
import { choice } from "../messages.js";
import type { NodeName } from "../names.js";
import type { WriteOptions } from "../writes.js";
import { GraphCalls } from "./graphs.js";

const ROLES = { user: "user", assistant: "assistant", system: "system", tool: "tool" };

/** What a caller says of a new message. */
export interface MessageInput {
  role: keyof typeof ROLES;
  /** The text. */
  content: string;
  /** Write the node of the session's external id, a "Session", if there is none. Callers that do so at once get the same one. */
  create?: boolean;
  /** The session's graph; else that of its external id, else "default". */
  graphName?: string;
  /** What the message's data shall have beside role and content, for mappings of your own. */
  data?: object;
  /** For imports and replays: messages are read by it; else the server's time. */
  createdAt?: Date | string;
}

/** What `appendMessage` wrote. */
export interface AppendedMessage {
  /** Of the message. */
  nodeId: string;
  /** The node that it hangs below. */
  sessionId: string;
  createdAt: string;
  /** By this call. */
  sessionCreated: boolean;
}

/** What writes a message as `getChatHistory` reads it without a mapping of one's own: a node below its session's. */
export abstract class MessageCalls extends GraphCalls {
  /**
   * Write a message of a conversation: a node "Message", and the edge "Contains" from the session to it.
   *
   * Both are there, or neither; a call that is tried again appends once. Of two calls the second of which began when the first had
   * returned, the second message is the later one. An external id without `create` is looked up first, in a call of its own.
   *
   * @throws NodeNotFound There is no such session.
   * @throws InvalidArgument The role is none, the content is empty, or the session is in another graph.
   */
  async appendMessage(session: NodeName, message: MessageInput & WriteOptions): Promise<AppendedMessage> {
    const { role, content, data, createdAt, headers, timeoutMs, signal, requestId } = message;
    choice("role", role, ROLES);
    if (typeof content !== "string" || content === "") {
      throw new InvalidArgument("content is no text, or empty: a history would not have it", { field: "content" });
    }
    const graphName = message.graphName ?? (typeof session === "string" ? undefined : session.graphName);
    const made = message.create && typeof session !== "string" ? session : undefined;
    const sessionId = made ? rowId(requestId, "session") : await this.nodeId(session, message, graphName);
    const turn = {
      id: rowId(requestId, "message"),
      generalTypeName: "Message",
      graphName,
      data: { ...data, role, content },
      createdAt,
    };
    const edge = { fromNodeId: sessionId, toNodeId: turn.id, edgeType: "Contains", graphName };
    const { nodes } = await this.writeGraph({
      nodes: made ? [{ id: sessionId, generalTypeName: "Session", graphName, externalId: made.externalId }, turn] : [turn],
      edges: [{ id: rowId(requestId, "edge"), ...edge }],
      onExisting: made ? "skip" : "fail",
      ...{ headers, timeoutMs, signal, requestId },
    });
    const [first, last] = [nodes[0]!, nodes.at(-1)!];
    return {
      nodeId: last.id,
      sessionId: made ? first.id : sessionId,
      createdAt: last.createdAt,
      sessionCreated: made !== undefined && !first.existed,
    };
  }
}
