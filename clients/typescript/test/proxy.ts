/** A connection that breaks where a test wants it to: a TCP proxy in front of a service. */

import { type AddressInfo, type Server, type Socket, connect, createServer } from "node:net";

const HEADERS = 1; // the type of an HTTP/2 frame: the first of an answer

/** What happens to the connections, in their order; the last one to those behind it, too. */
export type Fate =
  | "whole"
  /** Closed as soon as it is made. */
  | "refused"
  /** What the client sends arrives, and nothing comes back. */
  | "silent"
  /** The service does what it is asked, and its answer is lost with the connection. */
  | "answer lost"
  /** The same, with so many answers before. */
  | { answersBefore: number }
  /** It ends when so many bytes have come back. */
  | number;

export class Proxy {
  connections = 0;
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();

  private constructor(target: string, fates: Fate[]) {
    const port = Number(target.split(":").at(-1));
    this.server = createServer((client) => {
      const fate = fates[Math.min(this.connections, fates.length - 1)] ?? "whole";
      this.connections += 1;
      if (fate === "refused") {
        client.destroy();
        return;
      }
      const service = connect(port, "127.0.0.1");
      for (const socket of [client, service]) {
        this.sockets.add(socket);
        socket.on("error", () => {});
        socket.on("close", () => {
          client.destroy();
          service.destroy();
        });
      }
      client.pipe(service);
      let bytes = 0;
      const frames = new Frames();
      service.on("data", (data) => {
        if (fate === "silent") return;
        bytes += data.length;
        const lost = fate === "answer lost" ? 0 : typeof fate === "object" ? fate.answersBefore : Number.POSITIVE_INFINITY;
        if (frames.answers(data) > lost || (typeof fate === "number" && bytes > fate)) client.destroy();
        else client.write(data);
      });
    });
  }

  static async before(target: string, ...fates: Fate[]): Promise<Proxy> {
    const proxy = new Proxy(target, fates);
    await new Promise<void>((resolve) => proxy.server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get address(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }
}

/** Counts the answers that begin in what a service sends: the streams that have headers. */
class Frames {
  private held = Buffer.alloc(0);
  private readonly streams = new Set<number>();

  answers(data: Buffer): number {
    this.held = Buffer.concat([this.held, data]);
    while (this.held.length >= 9) {
      if (this.held[3] === HEADERS) this.streams.add(this.held.readUInt32BE(5));
      const end = 9 + this.held.readUIntBE(0, 3);
      if (this.held.length < end) break;
      this.held = this.held.subarray(end);
    }
    return this.streams.size;
  }
}
