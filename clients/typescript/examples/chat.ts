/** The example of the README: a session with one turn and a file, and the history read off it. */

import { ContextClient, EntityClient } from "contextkeep";

const entities = new EntityClient();
const context = new ContextClient();

const thread = { externalId: `thread-${Date.now()}` }; // your own id of the conversation
const { sessionId } = await entities.graph.appendMessage(thread, { role: "user", content: "Where is my file?", create: true });
await entities.graph.appendMessage(thread, { role: "assistant", content: "Here it is." });

const file = await context.blobs.upload({
  buffer: Buffer.from("quarter,revenue\nQ1,7\n"),
  name: "report.csv",
  entityNodeId: sessionId,
  metadata: { stage: "draft" },
});
const bytes = await context.blobs.getAsBuffer(file);
console.log(`${file.name}: ${bytes.length} bytes, ${file.metadata.stage}`);

const history = await context.history.get(thread);
for (const message of history.messages) console.log(`${message.role}: ${message.content}`);

entities.close();
context.close();
