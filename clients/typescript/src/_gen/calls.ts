// Made from the protos by `make proto`.

import * as administrationPb from "../gen/contextkeep/context/v1/administration_pb.js";
import * as chatHistoryPb from "../gen/contextkeep/context/v1/chat_history_pb.js";
import * as contextQueryPb from "../gen/contextkeep/context/v1/context_query_pb.js";
import * as contextWindowsPb from "../gen/contextkeep/context/v1/context_windows_pb.js";
import * as contextsPb from "../gen/contextkeep/context/v1/contexts_pb.js";
import * as definitionsPb from "../gen/contextkeep/context/v1/definitions_pb.js";
import * as erasuresPb from "../gen/contextkeep/context/v1/erasures_pb.js";
import * as knowledgePb from "../gen/contextkeep/context/v1/knowledge_pb.js";
import * as knowledgeBasesPb from "../gen/contextkeep/context/v1/knowledge_bases_pb.js";
import * as toolsPb from "../gen/contextkeep/context/v1/tools_pb.js";
import * as workingMemoryPb from "../gen/contextkeep/context/v1/working_memory_pb.js";
import type { CallOptions } from "../client.js";
import { AppClient } from "../context/app.js";
import type { ContextOptions } from "../context/contexts.js";
import { choice, whole } from "../messages.js";
import { type NodeName, nameFields } from "../names.js";
import { Rows, pages } from "../rows.js";
import { type Task, taskOf } from "../tasks.js";
import { type WriteOptions, requestId } from "../writes.js";
import {
  type AdministrativeCall,
  type ApiKey,
  type BackgroundWork,
  type Caller,
  type CreatedKey,
  type Job,
  type Tenant,
  type Usage,
  administrativeCallOf,
  apiKeyOf,
  backgroundWorkOf,
  callerOf,
  createdKeyOf,
  jobOf,
  tenantOf,
  usageOf,
} from "./administration.js";
import {
  type Agent,
  type AgentCallers,
  type AgentTemplate,
  type ProviderNames,
  agentOf,
  agentTemplateOf,
} from "./agents.js";
import { type HistoryEvent, type Mapping, historyEventOf, mappingOf } from "./chat-history.js";
import {
  type ComparedTests,
  type ContextProvider,
  type QueryPolicy,
  type SourceTest,
  comparedTestsOf,
  contextProviderOf,
  queryPolicyOf,
  sourceTestOf,
} from "./context-query.js";
import {
  type Checkpoint,
  type CompressionProfile,
  type CostEstimate,
  type ExplainedPack,
  type FoldReceipt,
  type Learning,
  type Merged,
  type Original,
  type RolledBack,
  type Window,
  type WindowStats,
  checkpointOf,
  compressionProfileOf,
  costEstimateOf,
  explainedPackOf,
  foldReceiptOf,
  learningOf,
  mergedOf,
  originalOf,
  rolledBackOf,
  windowOf,
  windowStatsOf,
} from "./context-windows.js";
import {
  type Context,
  type ContextHistory,
  type ContextKey,
  type Erasure,
  type ExternalId,
  type TaskHistory,
  contextHistoryOf,
  contextKeyOf,
  contextOf,
  erasureOf,
  taskHistoryOf,
} from "./contexts.js";
import { type CompiledPage, type Definition, compiledPageOf, definitionOf } from "./definitions.js";
import {
  type ErasurePlan,
  type Hold,
  type SubjectErasure,
  erasurePlanOf,
  holdOf,
  subjectErasureOf,
} from "./erasures.js";
import { type BedrockBase, type Document, type KnowledgeBase, documentOf, knowledgeBaseOf } from "./knowledge-bases.js";
import { type WikiPage, wikiPageOf } from "./knowledge.js";
import { type McpServer, type McpTool, mcpServerOf, mcpToolOf } from "./mcp-servers.js";
import { type ChatMessage, chatMessageOf } from "./message.js";
import { type Specialist, specialistOf } from "./specialists.js";
import { type Resource, type Tool, resourceOf, toolOf } from "./tools.js";
import {
  type RecordAction,
  type Upload,
  type WMRecord,
  recordActionOf,
  uploadOf,
  wmRecordOf,
} from "./working-memory.js";

/** Options of `createKey`. */
export interface KeyFields {
  /** Up to 512 characters, as the next one. */
  userId?: string;
  agentId?: string;
  /** Up to 100 of up to 200 characters each, as `graphNames`. */
  appIds?: string[];
  /** Up to 200 characters. */
  agentBundleId?: string;
  graphNames?: string[];
  /** Seconds until it ends, ten years at most. 0: it does not end. */
  ttlS?: number;
}

/** Options of `putAgent`. */
export interface AgentFields {
  /** Up to 200 characters. */
  displayName?: string;
  /** Empty: it has none. What the agent does not say, its template says. */
  templateId?: string;
  /**
   * Nodes of the graph, up to 20: its files are the records of these and of all nodes below them. Empty: as the template has it, else the
   * tenant's setting of the provider `workspace`. They need not be there yet.
   */
  nodeIds?: string[];
  /** Names of knowledge bases, up to 100 of up to 200 characters each. */
  knowledgeBases?: string[];
  /** Unset: whom the others let it ask. Given and empty: nobody. */
  allowed?: Partial<ProviderNames>;
  /** Who of them is asked where a question selects none. Unset: as the template has it, else the tenant. */
  defaults?: Partial<ProviderNames>;
  /**
   * Who may name the agent in `agentId`, besides administrators and the agent's own credential. Unset: everybody of the tenant but other
   * agents. Given and empty: nobody else. What is read as the agent is what the caller may read, whoever names it.
   */
  callers?: Partial<AgentCallers>;
}

/** Options of `putAgentTemplate`. */
export interface AgentTemplateFields {
  /** As of AgentInput, as the next three. */
  displayName?: string;
  nodeIds?: string[];
  knowledgeBases?: string[];
  /** Unset: whom the others let it ask. Given and empty: nobody. */
  allowed?: Partial<ProviderNames>;
  /** Who of them is asked where a question selects none. Unset: as the template has it, else the tenant. */
  defaults?: Partial<ProviderNames>;
}

/** Options of `putKnowledgeBase`. */
export interface KnowledgeBaseFields {
  /** What is in it, up to 2,000 characters. */
  description?: string;
  /** It is asked for everybody of the tenant. Else only for the agents that name it, or whose template does. */
  isOfTenant?: boolean;
  /** Walls: a key that is bound to an app, an agent bundle or graphs sees what has its own, and nothing that has none. They never change. */
  appId?: string;
  agentBundleId?: string;
  graphName?: string;
  /**
   * Of Amazon Bedrock, which is asked by its Retrieve API; it takes no documents here. Unset: its documents are added by addDocument. Never
   * changes. The operator of the service says in BEDROCK_KNOWLEDGE_BASES which ones a tenant may name, as they are asked with the service's
   * own credentials; any other is PermissionDenied.
   */
  bedrock?: Partial<BedrockBase>;
}

/** Options of `putMcpServer`. */
export interface McpServerFields {
  /** Up to 200 characters. Empty: the id. */
  displayName?: string;
  /** No tool of a server that is disabled runs. */
  disabled?: boolean;
  /**
   * A secret that is sent to it as `Authorization: Bearer …`: up to 4,096 printable ASCII characters without spaces. It is stored encrypted
   * (SECRETS_KEY), bound to tenant and server. Empty: the one that is kept stays, unless the origin of the address is another one: then say
   * it again, or clear it, so that nobody else is shown it.
   */
  bearerSecret?: string;
  clearSecret?: boolean;
}

/** Options of `approveMcpTool`. */
export interface McpApproval {
  /**
   * The arguments of its calls, as a JSON object of up to 16 KiB: a value that is the text "{question}" becomes the question, one that is
   * "{limit}" the number of hits wanted; one at least is "{question}". Empty: made from the tool's schema, where that has a text `query`,
   * `question`, `q` or `text`, and asks for nothing else.
   */
  argumentsJson?: string;
  /** Whether it is asked where a question selects no provider. */
  isDefault?: boolean;
  /** Records that searching with it does no harm, for a tool that does not say so itself. That it is read-only, it must say. */
  recordSearchSafe?: boolean;
  /** Approves only the definition with this hash, as it was read. Empty: the last that was discovered. */
  definitionSha256?: string;
}

/** Options of `putSpecialist`. */
export interface SpecialistFields {
  /** Up to 200 characters. Empty: the id. */
  displayName?: string;
  /**
   * What a model is told of the field: what is in the folder, what is called how, what matters. Up to 8,000 characters. It tells how to look,
   * and never what may be read.
   */
  instructions?: string;
  /**
   * The folder: nodes of the graph, up to 20; what is searched are the records of these and of all nodes below them that the asking caller
   * sees, but for the user's own, which are not the team's. They need not be there yet. Empty: the specialist is not wired, which is listed,
   * and says so in its status.
   */
  nodeIds?: string[];
  /** How many searches and readings a question may cost, 1 to 10. 0: 4. */
  stepsMax?: number;
  /** Whether it is asked where a question selects no provider. */
  isDefault?: boolean;
}

/** The calls of the Context Service that are one method each. */
export abstract class GeneratedCalls extends AppClient {
  /** Answers whom the caller's key or token stands for: its tenant, scopes, user, bounds and end. Every valid key may call it, also one of a context. */
  async getCaller(options: CallOptions = {}): Promise<Caller> {
    const request = {};
    const answer = await this.call(administrationPb.Administration.method.getCaller, request, options);
    return callerOf(answer);
  }

  /**
   * Lists keys, the newest first, revoked and expired ones too; never what a key is, but how it begins. Of a context: the short-lived ones of
   * issueContextKey, which no other list has.
   *
   * Throws InvalidArgument, InvalidPageToken.
   *
   * @param options.contextId Only those of this context. Empty: all others.
   */
  listKeys(options: { contextId?: string; pageSize?: number } & CallOptions = {}): Rows<ApiKey> {
    const request = {
      contextId: options.contextId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(administrationPb.Administration.method.listKeys, { ...request, pageToken }, options);
        return [page.keys.map(apiKeyOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Makes a key, and shows it once: only its hash is kept. A key cannot give what it does not have: the new one has no scope, app, graph,
   * agent bundle or user that the caller's lacks, and ends no later; it lives on if that one is revoked. Only a key that is stored makes others: a
   * token of an issuer, the key of the environment and an anonymous caller in development are PermissionDenied. Repeated, it makes another one,
   * since nobody can be shown the first again; listKeys says if there is one that nobody has seen.
   *
   * Throws PermissionDenied, InvalidArgument, LimitExceeded.
   *
   * @param subject 1 to 512 characters; rows keep it as `createdBy`.
   * @param scopes At least one of "read", "write", "admin", "delegate", "context:read", "compile".
   */
  async createKey(subject: string, scopes: string[], options: KeyFields & CallOptions = {}): Promise<CreatedKey> {
    const request = {
      key: {
        subject,
        scopes,
        userId: options.userId,
        agentId: options.agentId,
        appIds: options.appIds,
        agentBundleId: options.agentBundleId,
        graphNames: options.graphNames,
        ttlS: whole("key.ttl_s", options.ttlS),
      },
    };
    const answer = await this.call(administrationPb.Administration.method.createKey, request, options);
    return createdKeyOf(answer);
  }

  /**
   * Takes a key back, of a context too, if it is a part of the caller's; again is harmless. The services follow within seconds. The caller's own
   * can be taken back as well.
   *
   * Throws KeyNotFound (NotFound), PermissionDenied (as of createKey), InvalidArgument.
   *
   * @param prefix How it begins: its first 12 characters. It may be said whole.
   */
  async revokeKey(prefix: string, options: CallOptions = {}): Promise<void> {
    const request = {
      prefix,
    };
    await this.call(administrationPb.Administration.method.revokeKey, request, options);
  }

  /**
   * Lists the calls of both services that need the scope `admin` and changed something, or tried to: who, what, from where, and what came of it,
   * the newest first. They are kept for 400 days. No content and no key is in them. A caller that is bound sees those of callers that are
   * bound to the same. The log has a line for each, too, and for every other call that writes.
   *
   * Throws InvalidArgument, InvalidPageToken.
   *
   * @param options.callId Only the call of this id. Empty: all.
   */
  listAdministrativeCalls(
    options: { callId?: string; pageSize?: number } & CallOptions = {},
  ): Rows<AdministrativeCall> {
    const request = {
      callId: options.callId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(administrationPb.Administration.method.listAdministrativeCalls, { ...request, pageToken }, options);
        return [page.calls.map(administrativeCallOf), page.nextPageToken];
      }),
    );
  }

  /** Answers what the tenant stores, and what it may store; of the limits those that hold, whether they are its own or the settings'. */
  async getUsage(options: CallOptions = {}): Promise<Usage> {
    const request = {};
    const answer = await this.call(administrationPb.Administration.method.getUsage, request, options);
    return usageOf(answer);
  }

  /**
   * Lists all tenants by id, of all databases, with where each lives, what it stores and the limits of its own. Tenants of a database that does not answer
   * are in the list, and said to be away.
   *
   * Throws PermissionDenied, InvalidArgument, InvalidPageToken.
   */
  listTenants(options: { pageSize?: number } & CallOptions = {}): Rows<Tenant> {
    const request = {
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(administrationPb.Administration.method.listTenants, { ...request, pageToken }, options);
        return [page.tenants.map(tenantOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Lists what is owed behind calls, by kind and database, of all tenants together: vectors to make, files to read, bytes and contexts to remove. What failed for good is
   * said where it belongs, such as `textError` of a record.
   */
  async listBackgroundWork(options: CallOptions = {}): Promise<BackgroundWork[]> {
    const request = {};
    const answer = await this.call(administrationPb.Administration.method.listBackgroundWork, request, options);
    return answer.work.map(backgroundWorkOf);
  }

  /**
   * Lets what has failed of a kind, and waits for longer each time, be tried again now; 10,000 of each database at most. Again is harmless.
   *
   * Throws PermissionDenied, InvalidArgument.
   */
  async retryBackgroundWork(kind: string, options: CallOptions = {}): Promise<number> {
    const request = {
      kind,
    };
    const answer = await this.call(administrationPb.Administration.method.retryBackgroundWork, request, options);
    return Number(answer.retried);
  }

  /**
   * Starts a job, and answers at once: the process that took the call does it, one of a kind at a time, and says once a second how far it is. A job whose
   * process ends is LOST, and started again by hand: what is done is done.
   *
   * Throws JobRunning (FailedPrecondition, with its `jobId`), PermissionDenied, InvalidArgument.
   *
   * @param options.quick Of a check: read the last MiB of each blob, not all of it.
   * @param options.repair Of a check: mend what can be mended; bytes are never removed at once.
   */
  async startJob(
    kind: "sweep" | "fsck",
    options: { quick?: boolean; repair?: boolean } & CallOptions = {},
  ): Promise<Job> {
    const request = {
      kind: choice("kind", kind, { sweep: administrationPb.JobKind.SWEEP, fsck: administrationPb.JobKind.FSCK }),
      quick: options.quick,
      repair: options.repair,
    };
    const answer = await this.call(administrationPb.Administration.method.startJob, request, options);
    return jobOf(answer.job!);
  }

  /** Reads a job that an operator of the caller's tenant started, whichever process does it. Throws JobNotFound (NotFound), PermissionDenied. */
  async getJob(jobId: string, options: CallOptions = {}): Promise<Job> {
    const request = {
      jobId,
    };
    const answer = await this.call(administrationPb.Administration.method.getJob, request, options);
    return jobOf(answer.job!);
  }

  /** Lists them, the newest first; the last 1,000 are kept. Throws PermissionDenied, InvalidPageToken. */
  listJobs(options: { pageSize?: number } & CallOptions = {}): Rows<Job> {
    const request = {
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(administrationPb.Administration.method.listJobs, { ...request, pageToken }, options);
        return [page.jobs.map(jobOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Answers all that happened to an entity, by time: its node, its status and the rest of its timeline, its edges in both
   * directions, and the logs of its working memory records, those of purged records too.
   *
   * Nothing is kept for it but what is kept anyway. So of the changes of a node only the last is known, an edge that was deleted
   * is gone from it, and so is a timeline that was cleared. It may be asked for a node that is not there, or no longer, if there
   * ever was a record of it.
   *
   * Throws NodeNotFound, InvalidPageToken.
   *
   * @param nodeId Of the entity.
   * @param options.descending The newest first.
   * @param options.pageSize 0: 100. More than 1,000 counts as 1,000.
   */
  fetchEntityHistory(
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
        const page = await this.call(chatHistoryPb.ChatHistory.method.fetchEntityHistory, { ...request, pageToken }, options);
        return [page.events.map(historyEventOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Lists the mappings that the caller sees, by app and name, then those of the service's files and the built-in ones. Throws InvalidPageToken.
   *
   * @param options.appId Empty: every app that the caller sees, and the shared scope.
   * @param options.pageSize 0: 100. More than 1,000 counts as 1,000.
   */
  listMappings(options: { appId?: string; pageSize?: number } & CallOptions = {}): Rows<Mapping> {
    const request = {
      appId: options.appId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(chatHistoryPb.ChatHistory.method.listMappings, { ...request, pageToken }, options);
        return [page.mappings.map(mappingOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Lists the providers that there are, by id, as the tenant has them, and the agent, if there is one. It asks none of them.
   * Throws AgentNotFound.
   *
   * @param options.agentId As of queryContext.
   */
  async listContextProviders(options: { agentId?: string } & CallOptions = {}): Promise<ContextProvider[]> {
    const request = {
      agentId: options.agentId,
    };
    const answer = await this.call(contextQueryPb.ContextQuery.method.listContextProviders, request, options);
    return answer.providers.map(contextProviderOf);
  }

  /**
   * Says what would hold for a question now: of each provider whether it may be asked, is asked by default and how long it has, and where the
   * workspace is searched. queryContext holds to the same, whoever asks. Throws AgentNotFound, PermissionDenied (`subjectUserId`).
   *
   * @param options.agentId As of queryContext.
   */
  async getQueryPolicy(options: { agentId?: string } & ContextOptions = {}): Promise<QueryPolicy> {
    const request = {
      subjectUserId: options.subjectUserId,
      agentId: options.agentId,
    };
    const answer = await this.call(contextQueryPb.ContextQuery.method.getQueryPolicy, request, options);
    return queryPolicyOf(answer);
  }

  /** Lists the tests that are kept, the newest first, without their answers. Throws InvalidArgument, InvalidPageToken. */
  listSourceTests(options: { pageSize?: number } & CallOptions = {}): Rows<SourceTest> {
    const request = {
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(contextQueryPb.ContextQuery.method.listSourceTests, { ...request, pageToken }, options);
        return [page.tests.map(sourceTestOf), page.nextPageToken];
      }),
    );
  }

  /** Reads a test with its answer. Throws InvalidArgument, SourceTestNotFound. */
  async getSourceTest(testId: string, options: CallOptions = {}): Promise<SourceTest> {
    const request = {
      testId,
    };
    const answer = await this.call(contextQueryPb.ContextQuery.method.getSourceTest, request, options);
    return sourceTestOf(answer.test!);
  }

  /** Says what two tests differ in: hits by their ranks, and how each provider fared. Throws InvalidArgument, SourceTestNotFound. */
  async compareSourceTests(testId: string, otherTestId: string, options: CallOptions = {}): Promise<ComparedTests> {
    const request = {
      testId,
      otherTestId,
    };
    const answer = await this.call(contextQueryPb.ContextQuery.method.compareSourceTests, request, options);
    return comparedTestsOf(answer);
  }

  /** Removes a test. Throws InvalidArgument, SourceTestNotFound. */
  async deleteSourceTest(testId: string, options: CallOptions = {}): Promise<void> {
    const request = {
      testId,
    };
    await this.call(contextQueryPb.ContextQuery.method.deleteSourceTest, request, options);
  }

  /**
   * Reads a context with its newest messages, oldest of them first.
   *
   * Throws ContextNotFound.
   *
   * @param options.historyLength The newest so many messages. Unset: all that fit (2 MiB); 0: none.
   */
  async getContext(
    contextId: string,
    options: { historyLength?: number } & ContextOptions = {},
  ): Promise<ContextHistory> {
    const request = {
      contextId,
      historyLength: options.historyLength,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.call(contextsPb.Contexts.method.getContext, request, options);
    return contextHistoryOf(answer);
  }

  /** Lists the contexts that carry an id of another system, newest first: there may be several. Throws InvalidPageToken. */
  getContextsByExternalId(externalId: ExternalId, options: { pageSize?: number } & ContextOptions = {}): Rows<Context> {
    const request = {
      externalId,
      subjectUserId: options.subjectUserId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(contextsPb.Contexts.method.getContextsByExternalId, { ...request, pageToken }, options);
        return [page.contexts.map(contextOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Closes a context, and what was forked from it: it is read and recalled as before, and takes no more messages. Again is harmless.
   *
   * Throws ContextNotFound.
   */
  async closeContext(contextId: string, options: ContextOptions & WriteOptions = {}): Promise<Context> {
    const request = {
      contextId,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.call(contextsPb.Contexts.method.closeContext, request, options);
    return contextOf(answer.context!);
  }

  /**
   * Lists the messages of a context by their `seq`. Retracted ones are left out.
   *
   * A page ends at `pageSize` messages or 2 MiB. Throws ContextNotFound, InvalidPageToken.
   *
   * @param options.seqFrom From this `seq` on, and up to this one, both included; 0: from the first, to the last.
   */
  listMessages(
    contextId: string,
    options: { seqFrom?: number; seqTo?: number; newestFirst?: boolean; pageSize?: number } & ContextOptions = {},
  ): Rows<ChatMessage> {
    const request = {
      contextId,
      seqFrom: whole("seq_from", options.seqFrom),
      seqTo: whole("seq_to", options.seqTo),
      newestFirst: options.newestFirst,
      subjectUserId: options.subjectUserId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(contextsPb.Contexts.method.listMessages, { ...request, pageToken }, options);
        return [page.messages.map(chatMessageOf), page.nextPageToken];
      }),
    );
  }

  /** Reads one message. Throws ContextNotFound, MessageNotFound (also of a retracted one). */
  async getMessage(contextId: string, messageId: string, options: ContextOptions = {}): Promise<ChatMessage> {
    const request = {
      contextId,
      messageId,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.call(contextsPb.Contexts.method.getMessage, request, options);
    return chatMessageOf(answer.message!);
  }

  /**
   * Hides messages from reads, recall and later windows. Their `seq` stays theirs, and so do their ids: sent again, they stay
   * retracted. Again is harmless.
   *
   * Throws ContextNotFound, MessageNotFound (of any of them: then none is retracted), ContextClosed, LimitExceeded.
   *
   * @param messageIds 1 to 500.
   */
  async retractMessages(
    contextId: string,
    messageIds: string[],
    options: ContextOptions & WriteOptions = {},
  ): Promise<number> {
    const request = {
      contextId,
      messageIds,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.call(contextsPb.Contexts.method.retractMessages, request, options);
    return answer.retractedCount;
  }

  /**
   * Makes a short-lived key that reaches this context, those forked from it, and nothing else in either service; for an agent that shall
   * not be able to reach another whatever it is talked into. It has no more than the key that asks, makes no keys, and dies with it: of a
   * JWT with the token, of an anonymous caller in development after an hour.
   *
   * Throws ContextNotFound, PermissionDenied (a scope that the caller lacks; a key of a context asks), InvalidArgument.
   *
   * @param options.scopes "read", "write". Empty: those of both that the caller has.
   * @param options.ttlS Seconds until it ends, at most a day. 0: an hour.
   */
  async issueContextKey(
    contextId: string,
    options: { scopes?: string[]; ttlS?: number } & ContextOptions = {},
  ): Promise<ContextKey> {
    const request = {
      contextId,
      scopes: options.scopes,
      ttlS: options.ttlS,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.call(contextsPb.Contexts.method.issueContextKey, request, options);
    return contextKeyOf(answer);
  }

  /**
   * Deletes a context for good, with what was forked from it: when this is answered it is ContextNotFound for everybody, its keys are ended, and the id of
   * `getOrCreate` is free. Its messages, its index, its external ids, the records that were uploaded for it and that nothing
   * else refers to, and the answers that repeated calls would get are removed after that, in steps; the receipt says how far that is. Again is harmless, and answers the same receipt. A context that is past its
   * `expiresAt` is removed by itself in the same way, and has a receipt, too. A credential with `admin` deletes what is any user's;
   * a key of a context deletes nothing.
   *
   * Throws ContextNotFound, RequestIdReused.
   *
   * @param options.now Begins to remove its rows at once. Else the next pass does, within SWEEP_INTERVAL_S.
   */
  async deleteContext(
    contextId: string,
    options: { now?: boolean } & ContextOptions & WriteOptions = {},
  ): Promise<Erasure> {
    const request = {
      contextId,
      now: options.now,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.call(contextsPb.Contexts.method.deleteContext, request, options);
    return erasureOf(answer.erasure!);
  }

  /**
   * Reads a receipt as it is now. It is kept for a year after all was removed, and has numbers and times, nothing of what was said.
   *
   * Throws ErasureNotFound.
   */
  async getErasure(erasureId: string, options: ContextOptions = {}): Promise<Erasure> {
    const request = {
      erasureId,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.call(contextsPb.Contexts.method.getErasure, request, options);
    return erasureOf(answer.erasure!);
  }

  /**
   * Reads a task with its newest messages, oldest of them first. Throws ContextNotFound, TaskNotFound.
   *
   * @param options.historyLength The newest so many messages of it. Unset: all that fit (2 MiB); 0: none.
   */
  async getTask(
    taskId: string,
    options: { contextId?: string; historyLength?: number } & ContextOptions = {},
  ): Promise<TaskHistory> {
    const request = {
      contextId: options.contextId,
      taskId,
      historyLength: options.historyLength,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.call(contextsPb.Contexts.method.getTask, request, options);
    return taskHistoryOf(answer);
  }

  /**
   * Ends a task as TASK_STATE_CANCELED. Again is harmless. Whoever works on it reads so with getTask: nothing is sent to him.
   *
   * Throws ContextNotFound, TaskNotFound, TaskEnded (it ended otherwise), ContextClosed, RequestIdReused.
   */
  async cancelTask(
    taskId: string,
    options: { contextId?: string } & ContextOptions & WriteOptions = {},
  ): Promise<Task> {
    const request = {
      contextId: options.contextId,
      taskId,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.call(contextsPb.Contexts.method.cancelTask, request, options);
    return taskOf(answer.task!);
  }

  /** Lists the windows of a context, the newest first. Throws ContextNotFound, InvalidPageToken. */
  listWindows(contextId: string, options: { pageSize?: number } & ContextOptions = {}): Rows<Window> {
    const request = {
      contextId,
      subjectUserId: options.subjectUserId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(contextWindowsPb.ContextWindows.method.listWindows, { ...request, pageToken }, options);
        return [page.windows.map(windowOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Closes a window: it packs no more, and what it was packed of is removed, with its system prompt, tools and goal. Again is harmless.
   *
   * Throws WindowNotFound, RequestIdReused.
   */
  async closeWindow(windowId: string, options: ContextOptions & WriteOptions = {}): Promise<Window> {
    const request = {
      windowId,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.call(contextWindowsPb.ContextWindows.method.closeWindow, request, options);
    return windowOf(answer.window!);
  }

  /**
   * Registers a profile of compression under a name of the tenant's, as data. The same content again is the same version; other content is a
   * new one. The name stands for what was put last; a window keeps the version that it was opened with. An app puts its profile when it starts.
   *
   * Throws InvalidArgument (the name is no name, or of a profile that comes with the service; the text is no profile, and where),
   * LimitExceeded (`text`: 256 KiB; `profiles`: 100 of a tenant; `profile_versions`: 100 of a profile), PermissionDenied (the key is bound),
   * RequestIdReused.
   *
   * @param name Up to 64 characters: a small letter, and small letters, digits, `_` and `-`.
   * @param text YAML, or JSON, of up to 256 KiB, as docs/windows.md says: `extends`, `high_importance`, `low_importance`, `preserve_verbatim`, `tool_output_trim`, `words`, `state`. Patterns are RE2's, up to 400, of up to 20,000 instructions together; no anchors and no tags.
   */
  async putProfile(name: string, text: string, options: WriteOptions = {}): Promise<CompressionProfile> {
    const request = {
      name,
      text,
      requestId: requestId(options),
    };
    const answer = await this.call(contextWindowsPb.ContextWindows.method.putProfile, request, options);
    return compressionProfileOf(answer.profile!);
  }

  /**
   * Lists the profiles that come with the service and the tenant's, by name, or all versions of one, the newest first. Those that were learned
   * are among the versions, to whoever may see their app. Throws InvalidArgument, InvalidPageToken, PermissionDenied (`withEvidence`
   * needs `admin`).
   *
   * @param options.name Empty: all, each as it was put last. Else of this one all versions.
   * @param options.withText With `text`; a page has up to 10 then.
   * @param options.withEvidence With the counts of which versions follow that were learned. Needs `admin`.
   */
  listProfiles(
    options: { name?: string; withText?: boolean; pageSize?: number; withEvidence?: boolean } & CallOptions = {},
  ): Rows<CompressionProfile> {
    const request = {
      name: options.name,
      withText: options.withText,
      pageSize: options.pageSize,
      withEvidence: options.withEvidence,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(contextWindowsPb.ContextWindows.method.listProfiles, { ...request, pageToken }, options);
        return [page.profiles.map(compressionProfileOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Freezes what windows with `learning` teach of a profile, lets them go on, or undoes it: then windows that are opened get the profile as it
   * was put, and nothing is left of what was counted. Windows that are open keep what they have. With nothing said but the profile and the app it
   * answers what is known. Needs `admin`.
   *
   * Throws InvalidArgument (there is no such profile), LimitExceeded (`learnings`: 1,000 profiles and apps of a tenant), PermissionDenied
   * (the key is bound), RequestIdReused.
   *
   * @param profile "general", "coding", "research", "operations", or one that was put: "mine", as it was put last, or "mine@3".
   * @param options.appId Of whose windows; empty: of those of no app.
   * @param options.isFrozen Nothing more is counted and learned. Unset: as it is.
   * @param options.undo Undoes what was learned, and forgets what was counted.
   */
  async setLearning(
    profile: string,
    options: { appId?: string; isFrozen?: boolean; undo?: boolean } & WriteOptions = {},
  ): Promise<Learning> {
    const request = {
      profile,
      appId: options.appId,
      isFrozen: options.isFrozen,
      undo: options.undo,
      requestId: requestId(options),
    };
    const answer = await this.call(contextWindowsPb.ContextWindows.method.setLearning, request, options);
    return learningOf(answer);
  }

  /**
   * Folds now, as `pack` does when it must, and answers the account of it. With `dryRun` it says what it would do. Throws WindowNotFound,
   * WindowClosed, FoldNoProgress (FailedPrecondition: there is nothing to fold), Aborted, WindowBehind.
   */
  async fold(windowId: string, options: { dryRun?: boolean } & ContextOptions = {}): Promise<FoldReceipt> {
    const request = {
      windowId,
      subjectUserId: options.subjectUserId,
      dryRun: options.dryRun,
    };
    const answer = await this.call(contextWindowsPb.ContextWindows.method.fold, request, options);
    return foldReceiptOf(answer.receipt!);
  }

  /**
   * Works out a fold ahead of need, beside the calls of a model, and keeps it with the window; packs stay what they are, byte for byte. It
   * catches up with the log first. A later one takes its place. It holds as long as the epoch and the config: a fold, another prompt, tools,
   * goal or budget, a pin and a message that was retracted make it void.
   *
   * Throws WindowNotFound, WindowClosed, FoldNoProgress (there is nothing to fold), FoldStale (Aborted: the window has another epoch
   * than `expectedEpoch`; metadata `epoch`), Aborted, WindowBehind.
   *
   * @param options.expectedEpoch Of the pack that it is for, as Pack answered it. Unset: any.
   */
  async prepareFold(windowId: string, options: { expectedEpoch?: number } & ContextOptions = {}): Promise<FoldReceipt> {
    const request = {
      windowId,
      expectedEpoch: options.expectedEpoch,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.call(contextWindowsPb.ContextWindows.method.prepareFold, request, options);
    return foldReceiptOf(answer.receipt!);
  }

  /**
   * Folds as was prepared, without choosing lines anew, and answers the account of it. Of what came since, all stays
   * verbatim, and the state of the work is written as of now: what was said meanwhile is in it. If nothing came, it is what `fold` would do.
   * If too much did, the next pack folds again.
   *
   * Throws WindowNotFound, WindowClosed, FoldNotPrepared (FailedPrecondition: none was, by this config), FoldStale (Aborted: the window has another
   * epoch than `expectedEpoch`, or than the fold was prepared for, also because that was committed; metadata `epoch`), Aborted,
   * WindowBehind, RequestIdReused.
   *
   * @param options.expectedEpoch As prepareFold answered it. Unset: that of the fold which was prepared last.
   */
  async commitFold(
    windowId: string,
    options: { expectedEpoch?: number } & ContextOptions & WriteOptions = {},
  ): Promise<FoldReceipt> {
    const request = {
      windowId,
      expectedEpoch: options.expectedEpoch,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.call(contextWindowsPb.ContextWindows.method.commitFold, request, options);
    return foldReceiptOf(answer.receipt!);
  }

  /**
   * Keeps what the window is when it has read its log: a way back. It takes one row, however long the log is; packs stay what they are. A step
   * that waits for results is not in it. By itself a window makes one behind each 50 steps (`checkpointEveryNSteps`) and before each fold.
   * Of these it keeps the newest 20 each, of those of callers the newest 100. A message that is retracted takes all of them with it.
   *
   * Throws WindowNotFound, WindowClosed, WindowBehind, LimitExceeded (`label`: 200 characters), InvalidArgument,
   * RequestIdReused, Aborted.
   *
   * @param options.label Up to 200 characters, for whoever lists them.
   */
  async createCheckpoint(
    windowId: string,
    options: { label?: string } & ContextOptions & WriteOptions = {},
  ): Promise<Checkpoint> {
    const request = {
      windowId,
      label: options.label,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.call(contextWindowsPb.ContextWindows.method.createCheckpoint, request, options);
    return checkpointOf(answer.checkpoint!);
  }

  /** Lists the checkpoints of a window, the newest first. Throws WindowNotFound, InvalidPageToken. */
  listCheckpoints(windowId: string, options: { pageSize?: number } & ContextOptions = {}): Rows<Checkpoint> {
    const request = {
      windowId,
      subjectUserId: options.subjectUserId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(contextWindowsPb.ContextWindows.method.listCheckpoints, { ...request, pageToken }, options);
        return [page.checkpoints.map(checkpointOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Makes the window what it was at a checkpoint: the next pack is the one of then, byte for byte, with the prompt, tools and goal of now. Folds,
   * pins, and what callers said of the state behind it are undone; messages behind it are left out of the window from then on, and so of
   * whatever it recalls: what comes later follows the checkpoint. The log has them still: Expand answers them, other windows see them, and
   * what of them shall be known is sent again, as new messages. Checkpoints behind it are gone. All of it happens, or nothing; the prefix
   * breaks, with a receipt ("rolled_back").
   *
   * Throws WindowNotFound, WindowClosed, CheckpointNotFound (NotFound: none of this number, or no longer), LogMoved (Aborted: the log has
   * messages behind `expectedLastSeq`, which nobody should lose unseen; metadata `lastSeq`), LimitExceeded (`rollbacks`: a window leaves out
   * up to 1,000 separate rows of messages), InvalidArgument, RequestIdReused.
   *
   * @param checkpoint The number of the checkpoint.
   * @param expectedLastSeq The newest message of the log that the caller knows, such as `lastSeq` of the last pack, or what appending answered.
   */
  async rollback(
    windowId: string,
    checkpoint: number,
    expectedLastSeq: bigint,
    options: ContextOptions & WriteOptions = {},
  ): Promise<RolledBack> {
    const request = {
      windowId,
      checkpoint,
      expectedLastSeq,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.call(contextWindowsPb.ContextWindows.method.rollback, request, options);
    return rolledBackOf(answer);
  }

  /**
   * Brings back what came of a fork: one message in the log that it was forked from, as the result of a tool, with what its assistant said last,
   * and behind that what it decided, set, changed and found broken, by its state. Each has a ref, such as "f3:m57/0", that Expand of any window there
   * answers with the original. It is cut to `tokensMax`. No statement of it holds by itself where it came back: what was said in a fork makes no rule
   * there. The fork is closed with that, context and window, and its keys end. A fork is merged once: again is the same message.
   *
   * Throws WindowNotFound, InvalidArgument (the window is none that forkWindow opened), PermissionDenied (the key does not reach what it was
   * forked from), WindowClosed, ContextClosed (of what it was forked from), RequestIdReused, Aborted, WindowBehind.
   *
   * @param windowId Of the fork.
   * @param options.tokensMax Of the message that comes back, by the tokenizer of the window that it was forked from. 0: 2,000. An eighth of that one's `tokenLimit` at most.
   * @param options.toolCallId The call of a tool that asked for the fork, in the log that it was forked from: the message is its result. Empty: it is told for itself.
   */
  async mergeWindow(
    windowId: string,
    options: { tokensMax?: number; toolCallId?: string } & ContextOptions & WriteOptions = {},
  ): Promise<Merged> {
    const request = {
      windowId,
      tokensMax: options.tokensMax,
      toolCallId: options.toolCallId,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.call(contextWindowsPb.ContextWindows.method.mergeWindow, request, options);
    return mergedOf(answer);
  }

  /**
   * Answers the original of a ref that a pack, a receipt or a recall printed. Throws WindowNotFound, RefNotFound (NotFound: none of this
   * context, whoever else has it), Erased (NotFound: it was retracted), InvalidArgument.
   *
   * @param ref "m37": a message; "m37/2": its second part, "m37/0" its content; "m37..m58": messages; "m37.0": a passage, as recall names it. Of a fork with what names it in front: "f3:m37".
   */
  async expand(windowId: string, ref: string, options: ContextOptions = {}): Promise<Original> {
    const request = {
      windowId,
      ref,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.call(contextWindowsPb.ContextWindows.method.expand, request, options);
    return originalOf(answer);
  }

  /** Says part by part what the window shows, as the last pack had it. Throws WindowNotFound. */
  async explainPack(windowId: string, options: ContextOptions = {}): Promise<ExplainedPack> {
    const request = {
      windowId,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.call(contextWindowsPb.ContextWindows.method.explainPack, request, options);
    return explainedPackOf(answer);
  }

  /** Lists every break of the prefix with its account, the newest first. Throws WindowNotFound, InvalidPageToken. */
  getLineage(windowId: string, options: { pageSize?: number } & ContextOptions = {}): Rows<FoldReceipt> {
    const request = {
      windowId,
      subjectUserId: options.subjectUserId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(contextWindowsPb.ContextWindows.method.getLineage, { ...request, pageToken }, options);
        return [page.receipts.map(foldReceiptOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Says what the next packs cost, with folds as they come, as a vendor's cache has it that stays warm; beside that, what a window would cost
   * that leaves out the older half whenever it is full. Of answers nothing is counted. Throws WindowNotFound, InvalidArgument.
   *
   * @param options.steps How many steps are ahead, up to 100,000, with a pack behind each.
   * @param options.stepTokens Of one, as they are counted, up to 10,000,000. 0: like the last ones.
   */
  async estimateCost(
    windowId: string,
    options: { steps?: number; stepTokens?: number } & ContextOptions = {},
  ): Promise<CostEstimate> {
    const request = {
      windowId,
      subjectUserId: options.subjectUserId,
      steps: options.steps,
      stepTokens: options.stepTokens,
    };
    const answer = await this.call(contextWindowsPb.ContextWindows.method.estimateCost, request, options);
    return costEstimateOf(answer);
  }

  /**
   * Answers a window in numbers: what it shows of its log, how often its prefix broke, what its packs had in common, and what was billed. Reasons:
   * WindowNotFound.
   */
  async windowStats(windowId: string, options: ContextOptions = {}): Promise<WindowStats> {
    const request = {
      windowId,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.call(contextWindowsPb.ContextWindows.method.windowStats, request, options);
    return windowStatsOf(answer);
  }

  /**
   * Says what there is of a subject, by kind; which holds forbid to erase it; and what no erasure finds, since nothing says whose it is. It
   * changes nothing. It counts what is there, which takes a second for some million rows.
   *
   * Throws InvalidArgument, PermissionDenied, Unavailable (the Entity Service does not answer).
   *
   * @param subject The id of a user, as `ownerUserId` has it: up to 512 characters.
   */
  async planErasure(subject: string, options: CallOptions = {}): Promise<ErasurePlan> {
    const request = {
      subject,
    };
    const answer = await this.call(erasuresPb.Erasures.method.planErasure, request, options);
    return erasurePlanOf(answer);
  }

  /**
   * Begins to erase a subject, and answers a receipt at once: the services go on by themselves, whichever process is killed, in steps that hold up
   * nobody. What goes: the subject's keys; contexts with all below them; memories, wiki pages, tests of sources; records with their bytes, which
   * have no grace; unfinished uploads; nodes with all that hangs on them; what compiled pages say of those; all that any of these is found by; the answers of repeated
   * calls. Where something of others' says who wrote it, a pseudonym takes the place of the subject, in the kept calls of administrators too. While an
   * erasure of the subject runs, another call answers the same receipt. Stop before whoever writes for the subject: what comes behind a step stays.
   *
   * If the Entity Service does not answer, the erasure is begun all the same, and the call is Unavailable: call again, and it is begun there, too.
   *
   * Throws LegalHold (FailedPrecondition, with `hold_ids`), InvalidArgument, PermissionDenied, RequestIdReused, Unavailable.
   *
   * @param subject As of PlanErasureRequest.
   */
  async erase(subject: string, options: WriteOptions = {}): Promise<SubjectErasure> {
    const request = {
      subject,
      requestId: requestId(options),
    };
    const answer = await this.call(erasuresPb.Erasures.method.erase, request, options);
    return subjectErasureOf(answer.erasure!);
  }

  /**
   * Reads a receipt as it is now. Who was erased is on none: numbers, times and ids of our own are. They are kept for good, so that erasures can be done again on a
   * database that was restored from before them.
   *
   * Throws ErasureNotFound, PermissionDenied, Unavailable (the Entity Service does not answer).
   */
  async getSubjectErasure(erasureId: string, options: CallOptions = {}): Promise<SubjectErasure> {
    const request = {
      erasureId,
    };
    const answer = await this.call(erasuresPb.Erasures.method.getSubjectErasure, request, options);
    return subjectErasureOf(answer.erasure!);
  }

  /**
   * Forbids to erase a subject, or a context and those below it: Erase and deleteContext are refused with LegalHold, what is past its `expiresAt` stays, and an
   * erasure that is under way stops where it is. It forbids nothing else: retractMessages, records that are purged, memories that are deleted. Holds of one thing add
   * up: each is released by itself. 1,000 a tenant.
   *
   * Throws ContextNotFound, InvalidArgument (neither or both are named; no reason), LimitExceeded, PermissionDenied, RequestIdReused.
   *
   * @param reason For people: 1 to 1,000 characters.
   * @param options.subject One of these two.
   */
  async putHold(reason: string, options: { subject?: string; contextId?: string } & WriteOptions = {}): Promise<Hold> {
    const request = {
      subject: options.subject,
      contextId: options.contextId,
      reason,
      requestId: requestId(options),
    };
    const answer = await this.call(erasuresPb.Erasures.method.putHold, request, options);
    return holdOf(answer.hold!);
  }

  /** Releases a hold. Who did so, and when, is in listAdministrativeCalls. Throws HoldNotFound, PermissionDenied, RequestIdReused. */
  async releaseHold(holdId: string, options: WriteOptions = {}): Promise<void> {
    const request = {
      holdId,
      requestId: requestId(options),
    };
    await this.call(erasuresPb.Erasures.method.releaseHold, request, options);
  }

  /**
   * Lists holds, the newest first. Throws InvalidArgument, InvalidPageToken, PermissionDenied.
   *
   * @param options.pageSize Up to 1,000; 0: 100.
   */
  listHolds(options: { pageSize?: number } & CallOptions = {}): Rows<Hold> {
    const request = {
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(erasuresPb.Erasures.method.listHolds, { ...request, pageToken }, options);
        return [page.holds.map(holdOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Removes a memory for good, with all that finds it. What it superseded is superseded by the next one of the key, or holds again.
   *
   * Throws MemoryNotFound, SubjectRequired, RequestIdReused.
   */
  async forgetMemory(memoryId: string, options: ContextOptions & WriteOptions = {}): Promise<void> {
    const request = {
      memoryId,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    await this.call(knowledgePb.Knowledge.method.forgetMemory, request, options);
  }

  /**
   * Lists the pages of a user by slug, each in its newest version, without what it says.
   *
   * Throws InvalidArgument, InvalidPageToken, SubjectRequired, LimitExceeded, PermissionDenied.
   *
   * @param options.slugPrefix Only those whose slug begins with it: "customers/". Up to 128 characters.
   * @param options.memoryId Only those that cite this memory.
   */
  listPages(
    options: { slugPrefix?: string; memoryId?: string; pageSize?: number } & ContextOptions = {},
  ): Rows<WikiPage> {
    const request = {
      slugPrefix: options.slugPrefix,
      memoryId: options.memoryId,
      pageSize: options.pageSize,
      subjectUserId: options.subjectUserId,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(knowledgePb.Knowledge.method.listPages, { ...request, pageToken }, options);
        return [page.pages.map(wikiPageOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Writes an agent as it is said, whether there was one or not. Needs the scope `admin`: what an agent may ask is nothing that it decides.
   *
   * Throws InvalidArgument, AgentTemplateNotFound, LimitExceeded (`agents`: 10,000 of a tenant), PermissionDenied (the scope; the key is
   * bound), RequestIdReused.
   *
   * @param agentId The caller's own: 1 to 128 characters.
   */
  async putAgent(agentId: string, options: AgentFields & WriteOptions = {}): Promise<Agent> {
    const request = {
      agent: {
        agentId,
        displayName: options.displayName,
        templateId: options.templateId,
        nodeIds: options.nodeIds,
        knowledgeBases: options.knowledgeBases,
        policy: {
          allowed: options.allowed,
          defaults: options.defaults,
        },
        callers: options.callers,
      },
      requestId: requestId(options),
    };
    const answer = await this.call(knowledgePb.Knowledge.method.putAgent, request, options);
    return agentOf(answer.agent!);
  }

  /** Reads an agent that the caller may name. Another one is AgentNotFound, as one that is not there. */
  async getAgent(agentId: string, options: ContextOptions = {}): Promise<Agent> {
    const request = {
      agentId,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.call(knowledgePb.Knowledge.method.getAgent, request, options);
    return agentOf(answer.agent!);
  }

  /**
   * Lists the agents that the caller may name, by id. Throws InvalidPageToken.
   *
   * @param options.templateId Only those of this template. Empty: all.
   */
  listAgents(options: { templateId?: string; pageSize?: number } & ContextOptions = {}): Rows<Agent> {
    const request = {
      templateId: options.templateId,
      pageSize: options.pageSize,
      subjectUserId: options.subjectUserId,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(knowledgePb.Knowledge.method.listAgents, { ...request, pageToken }, options);
        return [page.agents.map(agentOf), page.nextPageToken];
      }),
    );
  }

  /** Removes an agent. Its files stay. Needs the scope `admin`. Throws AgentNotFound, PermissionDenied, RequestIdReused. */
  async deleteAgent(agentId: string, options: WriteOptions = {}): Promise<void> {
    const request = {
      agentId,
      requestId: requestId(options),
    };
    await this.call(knowledgePb.Knowledge.method.deleteAgent, request, options);
  }

  /**
   * Writes a template of agents as it is said; it holds for all that have it from then on. Needs the scope `admin`.
   *
   * Throws InvalidArgument, LimitExceeded (`templates`: 1,000 of a tenant), PermissionDenied, RequestIdReused.
   *
   * @param templateId The caller's own: 1 to 128 characters.
   */
  async putAgentTemplate(templateId: string, options: AgentTemplateFields & WriteOptions = {}): Promise<AgentTemplate> {
    const request = {
      template: {
        templateId,
        displayName: options.displayName,
        nodeIds: options.nodeIds,
        knowledgeBases: options.knowledgeBases,
        policy: {
          allowed: options.allowed,
          defaults: options.defaults,
        },
      },
      requestId: requestId(options),
    };
    const answer = await this.call(knowledgePb.Knowledge.method.putAgentTemplate, request, options);
    return agentTemplateOf(answer.template!);
  }

  /** Reads a template. Throws AgentTemplateNotFound. */
  async getAgentTemplate(templateId: string, options: CallOptions = {}): Promise<AgentTemplate> {
    const request = {
      templateId,
    };
    const answer = await this.call(knowledgePb.Knowledge.method.getAgentTemplate, request, options);
    return agentTemplateOf(answer.template!);
  }

  /** Lists the templates, by id. Throws InvalidPageToken. */
  listAgentTemplates(options: { pageSize?: number } & CallOptions = {}): Rows<AgentTemplate> {
    const request = {
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(knowledgePb.Knowledge.method.listAgentTemplates, { ...request, pageToken }, options);
        return [page.templates.map(agentTemplateOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Removes a template that no agent has. Needs the scope `admin`.
   *
   * Throws AgentTemplateNotFound, AgentTemplateInUse (FailedPrecondition), PermissionDenied, RequestIdReused.
   */
  async deleteAgentTemplate(templateId: string, options: WriteOptions = {}): Promise<void> {
    const request = {
      templateId,
      requestId: requestId(options),
    };
    await this.call(knowledgePb.Knowledge.method.deleteAgentTemplate, request, options);
  }

  /**
   * Writes a knowledge base as it is said, whether there was one of this name or not; its documents stay. Needs the scope `admin`.
   *
   * Of every RPC about knowledge bases: one that is not of the tenant is seen by administrators, and by the credential of an agent that has it,
   * or whose template does. To all others, and behind other walls, it is KnowledgeBaseNotFound, as one that is not there.
   *
   * Throws InvalidArgument (also: its walls were others), LimitExceeded (`knowledgeBases`: 200 of a tenant), PermissionDenied (the scope;
   * the key is bound), RequestIdReused.
   *
   * @param name What agents name it by: 1 to 200 characters.
   */
  async putKnowledgeBase(name: string, options: KnowledgeBaseFields & WriteOptions = {}): Promise<KnowledgeBase> {
    const request = {
      knowledgeBase: {
        name,
        description: options.description,
        isOfTenant: options.isOfTenant,
        appId: options.appId,
        agentBundleId: options.agentBundleId,
        graphName: options.graphName,
        bedrock: options.bedrock,
      },
      requestId: requestId(options),
    };
    const answer = await this.call(knowledgePb.Knowledge.method.putKnowledgeBase, request, options);
    return knowledgeBaseOf(answer.knowledgeBase!);
  }

  /** Reads a knowledge base, and how many of its documents are in which state. Throws KnowledgeBaseNotFound. */
  async getKnowledgeBase(name: string, options: CallOptions = {}): Promise<KnowledgeBase> {
    const request = {
      name,
    };
    const answer = await this.call(knowledgePb.Knowledge.method.getKnowledgeBase, request, options);
    return knowledgeBaseOf(answer.knowledgeBase!);
  }

  /** Lists the knowledge bases that the caller sees, by name. Throws InvalidPageToken. */
  listKnowledgeBases(options: { pageSize?: number } & CallOptions = {}): Rows<KnowledgeBase> {
    const request = {
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(knowledgePb.Knowledge.method.listKnowledgeBases, { ...request, pageToken }, options);
        return [page.knowledgeBases.map(knowledgeBaseOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Removes a knowledge base for good, with all its documents: nothing of it is found from then on. Records that it has stay in working memory.
   * Needs the scope `admin`.
   *
   * Throws KnowledgeBaseNotFound, PermissionDenied, RequestIdReused.
   */
  async deleteKnowledgeBase(name: string, options: WriteOptions = {}): Promise<void> {
    const request = {
      name,
      requestId: requestId(options),
    };
    await this.call(knowledgePb.Knowledge.method.deleteKnowledgeBase, request, options);
  }

  /**
   * Lists the documents of a knowledge base. Throws InvalidArgument, InvalidPageToken, KnowledgeBaseNotFound.
   *
   * @param options.states Only those in one of these states. Empty: all.
   */
  listDocuments(
    knowledgeBase: string,
    options: { states?: ("queued" | "parsing" | "indexed" | "failed")[]; pageSize?: number } & CallOptions = {},
  ): Rows<Document> {
    const request = {
      knowledgeBase,
      states: options.states?.map((item) => choice("states", item, { queued: knowledgeBasesPb.DocumentState.QUEUED, parsing: knowledgeBasesPb.DocumentState.PARSING, indexed: knowledgeBasesPb.DocumentState.INDEXED, failed: knowledgeBasesPb.DocumentState.FAILED })),
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(knowledgePb.Knowledge.method.listDocuments, { ...request, pageToken }, options);
        return [page.documents.map(documentOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Removes a document for good, with all that finds it. A record stays in working memory.
   *
   * Throws InvalidArgument, KnowledgeBaseNotFound, DocumentNotFound, PermissionDenied, RequestIdReused.
   */
  async removeDocument(knowledgeBase: string, documentId: string, options: WriteOptions = {}): Promise<void> {
    const request = {
      knowledgeBase,
      documentId,
      requestId: requestId(options),
    };
    await this.call(knowledgePb.Knowledge.method.removeDocument, request, options);
  }

  /**
   * MCP servers, up to 50 of a tenant. Writes one as it is said, whether there was one or not. Needs the scope `admin`, as all that is about
   * them, and a key without bounds, as all that writes.
   *
   * Throws AddressRefused (FailedPrecondition; which addresses a name stands for is looked at whenever it is connected to),
   * SecretsKeyMissing (FailedPrecondition), LimitExceeded, PermissionDenied, RequestIdReused.
   *
   * @param serverId The caller's own: 1 to 40 small letters, digits and hyphens, a letter first.
   * @param url Where it speaks streamable HTTP: https://, or http:// where MCP_SERVERS_ALLOWED lists its address. Up to 1,000 characters, without a user, a query or a fragment: a key in an address would be readable. With another address than before, all approvals of its tools are suspended.
   */
  async putMcpServer(serverId: string, url: string, options: McpServerFields & WriteOptions = {}): Promise<McpServer> {
    const request = {
      server: {
        serverId,
        displayName: options.displayName,
        url,
        disabled: options.disabled,
      },
      bearerSecret: options.bearerSecret,
      clearSecret: options.clearSecret,
      requestId: requestId(options),
    };
    const answer = await this.call(knowledgePb.Knowledge.method.putMcpServer, request, options);
    return mcpServerOf(answer.server!);
  }

  /** Lists the servers, by id. Throws InvalidPageToken. */
  listMcpServers(options: { pageSize?: number } & CallOptions = {}): Rows<McpServer> {
    const request = {
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(knowledgePb.Knowledge.method.listMcpServers, { ...request, pageToken }, options);
        return [page.servers.map(mcpServerOf), page.nextPageToken];
      }),
    );
  }

  /** Removes a server, its secret, and what is known of its tools. Throws McpServerNotFound, PermissionDenied, RequestIdReused. */
  async deleteMcpServer(serverId: string, options: WriteOptions = {}): Promise<void> {
    const request = {
      serverId,
      requestId: requestId(options),
    };
    await this.call(knowledgePb.Knowledge.method.deleteMcpServer, request, options);
  }

  /**
   * Asks a server for its tools, and keeps up to 200 definitions of up to 64 KiB; none is approved by that. What was approved and is defined
   * otherwise, or is gone, does not run before it is approved again. If it fails, nothing changes.
   *
   * Throws McpServerNotFound, McpServerFailed (FailedPrecondition: it redirects, wants to know who asks, answers too much, another
   * protocol or nothing in time), AddressRefused, SecretUnreadable (FailedPrecondition), LimitExceeded, PermissionDenied.
   */
  async discoverMcpTools(serverId: string, options: CallOptions = {}): Promise<McpTool[]> {
    const request = {
      serverId,
    };
    const answer = await this.call(knowledgePb.Knowledge.method.discoverMcpTools, request, options);
    return answer.tools.map(mcpToolOf);
  }

  /**
   * Lists tools as they were discovered. Throws InvalidPageToken.
   *
   * @param options.serverId Empty: of all servers.
   */
  listMcpTools(options: { serverId?: string; pageSize?: number } & CallOptions = {}): Rows<McpTool> {
    const request = {
      serverId: options.serverId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(knowledgePb.Knowledge.method.listMcpTools, { ...request, pageToken }, options);
        return [page.tools.map(mcpToolOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Lets context query ask a tool, as it was discovered last; up to 100 of a tenant.
   *
   * Throws McpToolNotFound, McpToolNotDeclared (FailedPrecondition: it does not say that it is read-only, or neither it nor an
   * administrator says that it is search-safe), McpToolChanged (FailedPrecondition: it is not the definition that was read),
   * LimitExceeded, PermissionDenied, RequestIdReused.
   */
  async approveMcpTool(serverId: string, toolName: string, options: McpApproval & WriteOptions = {}): Promise<McpTool> {
    const request = {
      serverId,
      toolName,
      argumentsJson: options.argumentsJson,
      isDefault: options.isDefault,
      recordSearchSafe: options.recordSearchSafe,
      definitionSha256: options.definitionSha256,
      requestId: requestId(options),
    };
    const answer = await this.call(knowledgePb.Knowledge.method.approveMcpTool, request, options);
    return mcpToolOf(answer.tool!);
  }

  /**
   * Takes an approval away, and all that was said with it: it is asked by default again only if a new approval says so.
   *
   * Throws McpToolNotFound, PermissionDenied, RequestIdReused.
   */
  async unapproveMcpTool(serverId: string, toolName: string, options: WriteOptions = {}): Promise<McpTool> {
    const request = {
      serverId,
      toolName,
      requestId: requestId(options),
    };
    const answer = await this.call(knowledgePb.Knowledge.method.unapproveMcpTool, request, options);
    return mcpToolOf(answer.tool!);
  }

  /**
   * Specialists, up to 50 of a tenant. Writes one as it is said, whether there was one or not. Needs the scope `admin`, as all that is about
   * them, and a key without bounds, as all that writes.
   *
   * A specialist is a provider of context query, `sub-agent-` and its id. It makes several queries of a question, or, where the service has a
   * model, lets that search its folder and read in it, step by step; either way it answers passages that it read, in their own words, and sees no
   * more than the caller who asks. A model that fails is no error: the queries answer then, and the status says so.
   *
   * Throws InvalidArgument, LimitExceeded (`specialists`; `specialist.node_ids`), PermissionDenied, RequestIdReused.
   *
   * @param specialistId The caller's own: 1 to 50 small letters, digits and hyphens, a letter first.
   */
  async putSpecialist(specialistId: string, options: SpecialistFields & WriteOptions = {}): Promise<Specialist> {
    const request = {
      specialist: {
        specialistId,
        displayName: options.displayName,
        instructions: options.instructions,
        nodeIds: options.nodeIds,
        stepsMax: options.stepsMax,
        isDefault: options.isDefault,
      },
      requestId: requestId(options),
    };
    const answer = await this.call(knowledgePb.Knowledge.method.putSpecialist, request, options);
    return specialistOf(answer.specialist!);
  }

  /** Lists the specialists, by id. Throws InvalidPageToken. */
  listSpecialists(options: { pageSize?: number } & CallOptions = {}): Rows<Specialist> {
    const request = {
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(knowledgePb.Knowledge.method.listSpecialists, { ...request, pageToken }, options);
        return [page.specialists.map(specialistOf), page.nextPageToken];
      }),
    );
  }

  /** Removes a specialist; what is in its folder stays. Throws SpecialistNotFound, PermissionDenied, RequestIdReused. */
  async deleteSpecialist(specialistId: string, options: WriteOptions = {}): Promise<void> {
    const request = {
      specialistId,
      requestId: requestId(options),
    };
    await this.call(knowledgePb.Knowledge.method.deleteSpecialist, request, options);
  }

  /**
   * Has pages compiled by a version of a definition, from the next compile on; the version that was approved before is retired. Pages of that
   * one stay, and say that they are out of date, until they are compiled. Needs the scope `admin`, in the Entity Service too: from the first
   * approval on, that keeps what changes in the tenant's graphs (startChanges).
   *
   * Throws DefinitionNotFound, InvalidArgument, PermissionDenied (the scope; the key is bound), RequestIdReused, Unavailable.
   *
   * @param version The version that was read. Required.
   */
  async approveDefinition(name: string, version: number, options: WriteOptions = {}): Promise<Definition> {
    const request = {
      name,
      version,
      requestId: requestId(options),
    };
    const answer = await this.call(knowledgePb.Knowledge.method.approveDefinition, request, options);
    return definitionOf(answer.definition!);
  }

  /**
   * Ends a version of a definition. If it was approved, no page of the definition is found any more. Needs the scope `admin`.
   *
   * Throws DefinitionNotFound (also: no version of it is approved, and none is named), PermissionDenied, RequestIdReused.
   *
   * @param options.version 0: the one that is approved.
   */
  async retireDefinition(name: string, options: { version?: number } & WriteOptions = {}): Promise<Definition> {
    const request = {
      name,
      version: options.version,
      requestId: requestId(options),
    };
    const answer = await this.call(knowledgePb.Knowledge.method.retireDefinition, request, options);
    return definitionOf(answer.definition!);
  }

  /**
   * Reads a version of a definition. Throws DefinitionNotFound.
   *
   * @param options.version 0: the one that is approved, else the newest.
   */
  async getDefinition(name: string, options: { version?: number } & CallOptions = {}): Promise<Definition> {
    const request = {
      name,
      version: options.version,
    };
    const answer = await this.call(knowledgePb.Knowledge.method.getDefinition, request, options);
    return definitionOf(answer.definition!);
  }

  /**
   * Lists the versions of definitions. Throws InvalidArgument, InvalidPageToken.
   *
   * @param options.states Only those in one of these states. Empty: all.
   */
  listDefinitions(
    options: { states?: ("draft" | "approved" | "retired")[]; pageSize?: number } & CallOptions = {},
  ): Rows<Definition> {
    const request = {
      states: options.states?.map((item) => choice("states", item, { draft: definitionsPb.DefinitionState.DRAFT, approved: definitionsPb.DefinitionState.APPROVED, retired: definitionsPb.DefinitionState.RETIRED })),
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(knowledgePb.Knowledge.method.listDefinitions, { ...request, pageToken }, options);
        return [page.definitions.map(definitionOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Reads a page that was compiled, with the facets that the caller may see. They have RPCs of their own: such a page is its tenant's, made of
   * facets with walls each, and has no Markdown and no versions; a page of a wiki is a user's, and has no facets.
   *
   * Throws CompiledPageNotFound (also: outside of the key's bounds, or its definition is not approved any more).
   */
  async getCompiledPage(pageId: string, options: CallOptions = {}): Promise<CompiledPage> {
    const request = {
      pageId,
    };
    const answer = await this.call(knowledgePb.Knowledge.method.getCompiledPage, request, options);
    return compiledPageOf(answer.page!);
  }

  /**
   * Lists pages that were compiled, without their facets. Throws InvalidArgument, InvalidPageToken; of an `externalId` NodeNotFound and
   * Unavailable.
   *
   * @param options.definitionName Empty: of all.
   * @param options.nodeId Only those of this node. Empty: of all.
   */
  listCompiledPages(
    options: { definitionName?: string; nodeId?: NodeName; pageSize?: number } & CallOptions = {},
  ): Rows<CompiledPage> {
    const request = {
      definitionName: options.definitionName,
      ...(options.nodeId !== undefined && nameFields("nodeId", options.nodeId)),
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(knowledgePb.Knowledge.method.listCompiledPages, { ...request, pageToken }, options);
        return [page.pages.map(compiledPageOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Lists the tools that the caller's key may call, by name.
   *
   * @param options.readOnly Leave out those that write.
   */
  async listTools(options: { readOnly?: boolean } & CallOptions = {}): Promise<Tool[]> {
    const request = {
      readOnly: options.readOnly,
    };
    const answer = await this.call(toolsPb.Tools.method.listTools, request, options);
    return answer.tools.map(toolOf);
  }

  /**
   * Lists the working memory records of an entity as resources, newest first. Their text is read by the tool `wm_read`.
   *
   * Throws InvalidPageToken; of an `externalId` NodeNotFound and Unavailable.
   *
   * @param entityNodeId Required, or `externalId`.
   * @param options.pageSize 0: 100. More than 1,000 counts as 1,000.
   */
  listResources(entityNodeId: NodeName, options: { pageSize?: number } & CallOptions = {}): Rows<Resource> {
    const request = {
      ...(entityNodeId !== undefined && nameFields("entityNodeId", entityNodeId)),
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(toolsPb.Tools.method.listResources, { ...request, pageToken }, options);
        return [page.resources.map(resourceOf), page.nextPageToken];
      }),
    );
  }

  /** Reads a record with its inline content. Throws RecordNotFound, RecordArchived. */
  async fetchWMRecord(
    workingMemoryId: string,
    options: { includeArchived?: boolean } & CallOptions = {},
  ): Promise<WMRecord> {
    const request = {
      workingMemoryId,
      includeArchived: options.includeArchived,
    };
    const answer = await this.call(workingMemoryPb.WorkingMemory.method.fetchWMRecord, request, options);
    return wmRecordOf(answer.record!);
  }

  /**
   * Brings an archived record back, and one past its `expiresAt`, which is then taken away. Again is harmless.
   *
   * Throws RecordNotFound (it never was, or it was purged).
   */
  async restoreWMRecord(workingMemoryId: string, options: CallOptions = {}): Promise<WMRecord> {
    const request = {
      workingMemoryId,
    };
    const answer = await this.call(workingMemoryPb.WorkingMemory.method.restoreWMRecord, request, options);
    return wmRecordOf(answer.record!);
  }

  /**
   * Lists what happened to a record, oldest first. Every change of a record is an entry, written in the transaction of the change;
   * entries are never changed nor removed, and can be read when the record is purged.
   *
   * Throws RecordNotFound (it never was), InvalidPageToken.
   *
   * @param options.pageSize 0: 100. More than 1,000 counts as 1,000.
   */
  listWMRecordActions(workingMemoryId: string, options: { pageSize?: number } & CallOptions = {}): Rows<RecordAction> {
    const request = {
      workingMemoryId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(workingMemoryPb.WorkingMemory.method.listWMRecordActions, { ...request, pageToken }, options);
        return [page.actions.map(recordActionOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Tells how far an upload is; of one that was finished within the last day, its record.
   *
   * Throws UploadNotFound (it never was, it was given up, or it was finished longer ago).
   */
  async getUpload(uploadId: string, options: CallOptions = {}): Promise<Upload> {
    const request = {
      uploadId,
    };
    const answer = await this.call(workingMemoryPb.WorkingMemory.method.getUpload, request, options);
    return uploadOf(answer.upload!);
  }
}
