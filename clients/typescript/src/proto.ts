/** The generated messages and services, for `call` and `stream`: RPCs and fields that have no method of their own. */

export * as chatHistory from "./gen/contextkeep/context/v1/chat_history_pb.js";
export * as message from "./gen/contextkeep/context/v1/message_pb.js";
export * as tools from "./gen/contextkeep/context/v1/tools_pb.js";
export * as workingMemory from "./gen/contextkeep/context/v1/working_memory_pb.js";
export * as entityGraph from "./gen/contextkeep/entity/v1/entity_graph_pb.js";
