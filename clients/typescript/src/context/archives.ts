/** Archives: a tenant, a context, a user or a graph, taken out and put in elsewhere. */

import { create } from "@bufbuild/protobuf";
import type { AppClient } from "./app.js";
import { Noun } from "../noun.js";
import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/context/v1/transfer_pb.js";
import { ImportNotFound } from "../gen/errors.js";
import { newId } from "../ids.js";
import { timeText } from "../times.js";
import { cut } from "../transfer.js";

const method = pb.Transfer.method;

/** What an archive is of: one of these. */
export type ArchiveScope = { tenant: true } | { contextId: string } | { userId: string } | { graphName: string };

/** Some bytes of an archive. */
export interface ArchivePart {
  /** Up to 1 MiB. */
  data: Uint8Array;
  /** Goes on behind `data`. Empty: it cannot be gone on with here. */
  resumeToken: string;
}

/** An import, as far as it is. */
export interface ImportedArchive {
  /** Empty of a dry run. */
  importId: string;
  state: "RUNNING" | "DONE" | "GIVEN_UP" | "";
  /** Of the archive, that is written. */
  offsetBytes: number;
  createdAt: string;
  updatedAt: string;
  /** What the archive says of itself. */
  manifest: Record<string, unknown>;
  rows: { table: string; written: number; present: number; conflicts: number }[];
  /** The first 100 rows that are there, and other than in the archive: they stay. */
  conflicts: { table: string; key: Record<string, unknown>; why: string; piece: number }[];
  /** What the archive has not, and why. */
  leftOut: string[];
  dryRun: boolean;
}

const STATES: Record<number, ImportedArchive["state"]> = {
  [pb.ImportState.RUNNING]: "RUNNING",
  [pb.ImportState.DONE]: "DONE",
  [pb.ImportState.GIVEN_UP]: "GIVEN_UP",
};

/** All of them need the scope `admin`, and a key that is bound to nothing. An RPC is one method. */
export class Archives extends Noun<AppClient> {
  /**
   * Take a tenant, a context, a user or a graph out, and yield the bytes. One that breaks off goes on with the `resumeToken` of the
   * last part that had one: what came behind it comes again.
   *
   * @throws ContextNotFound There is no such context.
   */
  async *export(scope: ArchiveScope, options: { resumeToken?: string } & CallOptions = {}): AsyncGenerator<ArchivePart> {
    const request = { scope: scopeOf(scope), resumeToken: options.resumeToken };
    for await (const { data, resumeToken } of this.client.stream(method.exportArchive, request, options, false)) {
      yield { data, resumeToken };
    }
  }

  /**
   * Put an archive into the tenant of the key, and return what it met. What is there already is not written twice. With its
   * `importId` one that broke off goes on where it was: `open` is asked for the bytes from there.
   *
   * @throws ArchiveRefused A piece is malformed, or holds what cannot be stored; what came before it is written.
   */
  async importArchive(
    open: (offsetBytes: number) => AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    options: { importId?: string; dryRun?: boolean } & CallOptions = {},
  ): Promise<ImportedArchive> {
    const importId = options.dryRun ? "" : (options.importId ?? newId());
    const offsetBytes = options.importId === undefined || options.dryRun ? 0 : await this.reached(importId, options);
    const header = { importId, offsetBytes: BigInt(offsetBytes), dryRun: options.dryRun };
    const settings = this.client.settings(options, this.client.attempts(options, undefined, false));
    const answer = await this.client.connection.upload(method.importArchive, importMessages(header, open(offsetBytes)), settings);
    return importedOf(answer.imported!);
  }

  /**
   * How far an import is, and what it met.
   *
   * @throws ImportNotFound There is none, or it ended more than 30 days ago.
   */
  async getImport(importId: string, options: CallOptions = {}): Promise<ImportedArchive> {
    return importedOf((await this.client.call(method.getImport, { importId }, options)).imported!);
  }

  private async reached(importId: string, options: CallOptions): Promise<number> {
    try {
      return (await this.getImport(importId, options)).offsetBytes;
    } catch (error) {
      if (error instanceof ImportNotFound) return 0;
      throw error;
    }
  }
}

function scopeOf(scope: ArchiveScope): pb.ArchiveScope {
  if ("tenant" in scope) return create(pb.ArchiveScopeSchema, { of: { case: "tenant", value: scope.tenant } });
  if ("contextId" in scope) return create(pb.ArchiveScopeSchema, { of: { case: "contextId", value: scope.contextId } });
  if ("userId" in scope) return create(pb.ArchiveScopeSchema, { of: { case: "userId", value: scope.userId } });
  return create(pb.ArchiveScopeSchema, { of: { case: "graphName", value: scope.graphName } });
}

async function* importMessages(
  header: { importId: string; offsetBytes: bigint; dryRun?: boolean },
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<pb.ImportArchiveRequest> {
  yield create(pb.ImportArchiveRequestSchema, {
    content: { case: "header", value: create(pb.ImportArchiveHeaderSchema, header) },
  });
  for await (const data of cut(bytes)) {
    yield create(pb.ImportArchiveRequestSchema, { content: { case: "data", value: data } });
  }
}

function importedOf(message: pb.ImportedArchive): ImportedArchive {
  return {
    importId: message.importId,
    state: STATES[message.state] ?? "",
    offsetBytes: Number(message.offsetBytes),
    createdAt: timeText(message.createdAt),
    updatedAt: timeText(message.updatedAt),
    manifest: JSON.parse(message.manifestJson || "{}") as Record<string, unknown>,
    rows: message.rows.map(({ table, written, present, conflicts }) => ({
      table,
      written: Number(written),
      present: Number(present),
      conflicts: Number(conflicts),
    })),
    conflicts: message.conflicts.map(({ table, keyJson, why, piece }) => ({
      table,
      key: JSON.parse(keyJson || "{}") as Record<string, unknown>,
      why,
      piece: Number(piece),
    })),
    leftOut: message.leftOut,
    dryRun: message.dryRun,
  };
}
