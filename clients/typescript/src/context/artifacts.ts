/** Artifacts: results of tasks. */

import { GeneratedArtifacts } from "../_gen/nouns/artifacts.js";
import type { AppClient } from "./app.js";
import { withUploads } from "./message-files.js";

/** The calls about artifacts. A large file is uploaded first. */
export class Artifacts extends GeneratedArtifacts {
  constructor(client: AppClient) {
    super(withUploads(client));
  }
}
