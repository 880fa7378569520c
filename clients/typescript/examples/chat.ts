/** The example of the README: a session with one turn and a file, and the history read off it. */

import { ContextClient, EntityClient } from "contextgraph";

const graph = new EntityClient();
const context = new ContextClient();

const session = await graph.createNode({ generalTypeName: "Session", name: "support" });
const turn = await graph.createNode({
  generalTypeName: "Turn",
  data: { user_input: "Where is my file?", assistant_output: "Here it is." },
});
await graph.createEdge({ fromNodeId: session.id, toNodeId: turn.id, edgeType: "Contains" });

const file = await context.uploadBlobFromBuffer({
  buffer: Buffer.from("quarter,revenue\nQ1,7\n"),
  name: "report.csv",
  entityNodeId: session.id,
  metadata: { stage: "draft" },
});
const bytes = await context.getBlobAsBuffer(file);
console.log(`${file.name}: ${bytes.length} bytes, ${file.metadata.stage}`);

const history = await context.getChatHistory(session.id);
for (const message of history.messages) console.log(`${message.role}: ${message.content}`);

graph.close();
context.close();
