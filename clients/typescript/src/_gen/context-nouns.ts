// Made from the protos by `make proto`.

import { AppClient } from "../context/app.js";
import { AgentTemplates } from "./nouns/agent-templates.js";
import { Agents } from "./nouns/agents.js";
import { Archives } from "../context/archives.js";
import { Artifacts } from "../context/artifacts.js";
import { Blobs } from "../context/blobs.js";
import { CompiledPages } from "./nouns/compiled-pages.js";
import { ContextSettings } from "./nouns/context-settings.js";
import { Contexts } from "../context/contexts.js";
import { Definitions } from "./nouns/definitions.js";
import { Erasures } from "./nouns/erasures.js";
import { History } from "../context/history.js";
import { Holds } from "./nouns/holds.js";
import { Jobs } from "./nouns/jobs.js";
import { Keys } from "./nouns/keys.js";
import { KnowledgeBases } from "./nouns/knowledge-bases.js";
import { Mappings } from "./nouns/mappings.js";
import { McpServers } from "./nouns/mcp-servers.js";
import { Memories } from "../context/memories.js";
import { Operations } from "../context/operations.js";
import { Pages } from "./nouns/pages.js";
import { Profiles } from "./nouns/profiles.js";
import { Query } from "./nouns/query.js";
import { Records } from "../context/records.js";
import { SourceTests } from "./nouns/source-tests.js";
import { Specialists } from "./nouns/specialists.js";
import { Tasks } from "../context/tasks.js";
import { Tools } from "./nouns/tools.js";
import { Uploads } from "../context/uploads.js";
import { Windows } from "../context/windows.js";

export { AgentTemplates, Agents, Archives, Artifacts, Blobs, CompiledPages, ContextSettings, Contexts, Definitions, Erasures, History, Holds, Jobs, Keys, KnowledgeBases, Mappings, McpServers, Memories, Operations, Pages, Profiles, Query, Records, SourceTests, Specialists, Tasks, Tools, Uploads, Windows };

/** What the client of the Context Service has calls about. */
export abstract class ContextNouns extends AppClient {
  readonly agentTemplates = new AgentTemplates(this);
  readonly agents = new Agents(this);
  readonly archives = new Archives(this);
  readonly artifacts = new Artifacts(this);
  readonly blobs = new Blobs(this);
  readonly compiledPages = new CompiledPages(this);
  readonly contextSettings = new ContextSettings(this);
  readonly contexts = new Contexts(this);
  readonly definitions = new Definitions(this);
  readonly erasures = new Erasures(this);
  readonly history = new History(this);
  readonly holds = new Holds(this);
  readonly jobs = new Jobs(this);
  readonly keys = new Keys(this);
  readonly knowledgeBases = new KnowledgeBases(this);
  readonly mappings = new Mappings(this);
  readonly mcpServers = new McpServers(this);
  readonly memories = new Memories(this);
  readonly operations = new Operations(this);
  readonly pages = new Pages(this);
  readonly profiles = new Profiles(this);
  readonly query = new Query(this);
  readonly records = new Records(this);
  readonly sourceTests = new SourceTests(this);
  readonly specialists = new Specialists(this);
  readonly tasks = new Tasks(this);
  readonly tools = new Tools(this);
  readonly uploads = new Uploads(this);
  readonly windows = new Windows(this);
}
