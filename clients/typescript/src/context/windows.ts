/** Windows on contexts: the part of a context that one model sees, within its budget. */

import { createHash } from "node:crypto";

import { type Original, type Pack, type Window, type WindowEvent, originalOf, windowEventOf } from "../_gen/context-windows.js";
import { WindowHandle } from "../_gen/handles.js";
import { GeneratedWindows } from "../_gen/nouns/windows.js";
import { insertFiles } from "../files.js";
import { FileDelivery } from "../gen/contextkeep/context/v1/chat_history_pb.js";
import * as pb from "../gen/contextkeep/context/v1/context_windows_pb.js";
import { AnswerTooLarge, BlobCorrupted, Unavailable } from "../gen/errors.js";
import { whole } from "../messages.js";
import { type Recovered, packSince } from "../windows.js";
import type { ContextOptions } from "./app.js";

const RANGE_BYTES = 4_128_768n; // the most that the service answers in one call
const EXPANDED_BYTES_MAX = 10n * 1024n * 1024n;

/** A window as it was opened, with the methods that are about it: `window.pack()`. */
export type OpenWindow = Window & WindowHandle;

/** Each RPC is one method. A window that does not exist, or that the caller may not see, is `WindowNotFound`. */
export class Windows extends GeneratedWindows {
  override async open(...args: Parameters<GeneratedWindows["open"]>): Promise<OpenWindow> {
    const window = await super.open(...args);
    return Object.assign(this.handle(window.windowId, args[2]), window);
  }

  /**
   * Return a handle of a window: its methods need no `windowId`, and act for the user of `subjectUserId` if one is
   * given. Makes no call.
   */
  handle(windowId: string, { subjectUserId }: { subjectUserId?: string } = {}): WindowHandle {
    return new WindowHandle(subjectUserId ? new Windows(this.client.forUser(subjectUserId)) : this, windowId);
  }

  /**
   * Return the pack: the messages that the model should see now. It extends the last pack until a compaction.
   *
   * The client reads the bytes of files once and caches up to 64 MiB of them. `body` has them; `messagesJson` does not.
   *
   * @param options `since` is the previous pack. If the new one begins with it, the service sends only the new part.
   * @throws WindowClosed The window is closed.
   * @throws WindowBehind The call had no time to read all new messages; the next call continues.
   * @throws BudgetTooSmall The fixed parts do not fit: `least` in the metadata.
   * @throws TokensSpent With this pack the window has more tokens than its `maxTotalTokens`.
   * @throws AnswerTooLarge The pack does not fit one answer, even without the bytes of files.
   */
  async pack(windowId: string, options: { since?: Pack; withoutRecall?: boolean } & ContextOptions = {}): Promise<Pack> {
    const { since, withoutRecall, subjectUserId } = options;
    const known = since && { ifPrefixSha: since.prefixSha, ifPrefixBytes: since.prefixBytes };
    const request = { windowId, withoutRecall, subjectUserId, files: FileDelivery.REFERENCES, ...known };
    return this.withFiles(packSince(await this.client.call(pb.Packing.method.pack, request, options), since), options);
  }

  /**
   * Return the original of a ref that a pack, a receipt or a recall has shown; a file of up to 10 MiB whole.
   *
   * @param ref "m37" is a message; "m37/2" its second part, "m37/0" its content, "m37/2/1" the first file of the result in its second
   *   part; "m37..m58" a range of messages; "m37.0" a passage, as recall names it. For a fork, with the fork's ref before it: "f3:m37".
   * @throws RefNotFound This context has no such ref, even if another context has it.
   * @throws Erased The message was retracted.
   * @throws AnswerTooLarge The file has more than 10 MiB; `blobs.get` reads it.
   */
  async expand(windowId: string, ref: string, options: ContextOptions = {}): Promise<Original> {
    const read = async (offsetBytes: bigint) => {
      const request = { windowId, ref, subjectUserId: options.subjectUserId, offsetBytes, lengthBytes: RANGE_BYTES };
      return this.client.call(pb.Windows.method.expand, request, options);
    };
    const first = await read(0n);
    const { sizeBytes } = first;
    if (sizeBytes > EXPANDED_BYTES_MAX) {
      throw new AnswerTooLarge(`the file has ${sizeBytes} bytes; expand returns up to ${EXPANDED_BYTES_MAX}: read it with blobs.get`);
    }
    const ranges = [first.content];
    for (let at = BigInt(first.content.length); at < sizeBytes; at += BigInt(ranges.at(-1)!.length)) {
      ranges.push((await read(at)).content);
    }
    if (ranges.length > 1) {
      first.content = Buffer.concat(ranges);
      const sha256 = createHash("sha256").update(first.content).digest("hex");
      if (sha256 !== first.sha256) throw new BlobCorrupted(`the bytes of the file have the sha256 ${sha256}, not ${first.sha256}`);
    }
    return originalOf(first);
  }

  /** Report whether the response to a pack was valid; see the generated method. The pack to retry with has its files. */
  override async reportResponse(...args: Parameters<GeneratedWindows["reportResponse"]>): Promise<Recovered | undefined> {
    const recovered = await super.reportResponse(...args);
    if (recovered) await this.withFiles(recovered.pack, args[3]);
    return recovered;
  }

  /** Yield the body of a pack as JSON, with the bytes of its files, in chunks. `pack` suits most callers. */
  async *packBody(windowId: string, options: { withoutRecall?: boolean } & ContextOptions = {}): AsyncGenerator<Uint8Array> {
    const { withoutRecall, subjectUserId } = options;
    for await (const { answer } of this.client.stream(pb.Packing.method.packBody, { windowId, withoutRecall, subjectUserId }, options)) {
      if (answer.case === "chunk") yield answer.value;
    }
  }

  /** Insert the bytes of its files into the body of a pack, and return the pack. */
  private async withFiles(pack: Pack, options?: ContextOptions): Promise<Pack> {
    await insertFiles(this.client, pack.body, pack.files, options);
    return pack;
  }

  /**
   * Yield the changes of a window: breaks of its prefix, new entries of its state, and the changed window. If a replica
   * stops, the stream continues on another one. It ends when the window is closed.
   *
   * @param options `epochAfter` skips breaks up to this epoch, such as that of the last pack; `entryFrom` is the first
   *   entry of the state; an event has both values for the next call. `untilNow` stops after the changes that exist
   *   now.
   * @throws Unauthenticated The key was revoked, or has expired.
   */
  async *watch(
    windowId: string,
    options: { epochAfter?: number; entryFrom?: number; untilNow?: boolean } & ContextOptions = {},
  ): AsyncGenerator<WindowEvent> {
    const { untilNow, subjectUserId } = options;
    let epochAfter = options.epochAfter ?? 0;
    let entryFrom = whole("entry_from", options.entryFrom);
    for (;;) {
      let begun = false;
      try {
        const request = { windowId, epochAfter, entryFrom, untilNow, subjectUserId };
        for await (const answer of this.client.stream(pb.Windows.method.watchWindow, request, options)) {
          begun = true;
          ({ epochAfter, entryFrom } = answer);
          if (answer.event.case) yield windowEventOf(answer);
        }
        return;
      } catch (error) {
        if (!begun || !(error instanceof Unavailable)) throw error;
      }
    }
  }
}
