/** Tasks: work within a context. */

import { GeneratedTasks } from "../_gen/nouns/tasks.js";
import type { AppClient } from "./app.js";
import { withUploads } from "./message-files.js";

/** The calls about tasks. A large file of a status message is uploaded first. */
export class Tasks extends GeneratedTasks {
  constructor(client: AppClient) {
    super(withUploads(client));
  }
}
