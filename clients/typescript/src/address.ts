/** Where a service is: `host:port`, `http://host:port` (plaintext) or `https://host[:port]` (TLS). */

import { InvalidArgument } from "./gen/errors.js";

const FORMS = "use host:port, http://host:port (plaintext) or https://host[:port] (TLS); an IPv6 host in brackets";

// A scheme, a host (a name, IPv4, or IPv6 in brackets), a port, a bare slash. Whatever else a URL may have is refused.
const ADDRESS =
  /^(?:(?<scheme>https?):\/\/)?(?:\[(?<ipv6>[0-9a-f:.]+(?:%[0-9a-z_.-]+)?)\]|(?<host>[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_.])?))(?::(?<port>[0-9]{1,5}))?(?<slash>\/?)$/i;
const PORT_OF_SCHEME: Record<string, number> = { http: 80, https: 443 };

export interface Address {
  /** Without brackets. */
  host: string;
  /** As grpc-js wants it: `host:port`. */
  target: string;
  tls: boolean;
}

/**
 * Return the address that `text` spells.
 *
 * @param field What to call the text in an error: the option or the variable that it came from.
 * @throws InvalidArgument It has none of the three forms, or its port does not exist.
 */
export function parseAddress(text: string, field = "address"): Address {
  const found = ADDRESS.exec(text.trim())?.groups;
  if (!found || (found.slash && !found.scheme)) {
    throw new InvalidArgument(`${field} ${shown(text)} is not an address: ${FORMS}`, { field });
  }
  const scheme = (found.scheme ?? "").toLowerCase();
  const port = found.port ? Number(found.port) : PORT_OF_SCHEME[scheme];
  if (port === undefined) throw new InvalidArgument(`${field} ${shown(text)} has no port: ${FORMS}`, { field });
  if (port < 1 || port > 65535) {
    throw new InvalidArgument(`${field} ${shown(text)} has a port outside of 1 to 65535`, { field });
  }
  const host = found.ipv6 ?? found.host ?? "";
  return { host, target: `${found.ipv6 ? `[${host}]` : host}:${port}`, tls: scheme === "https" };
}

/** Whether the host is this machine: no proxy is used for it. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.[0-9]{1,3}){3}$/.test(host);
}

/** The text for an error, without the user and password that a URL may carry. */
function shown(text: string): string {
  return JSON.stringify(text.replace(/\/\/[^/@]*@/, "//...@").slice(0, 100));
}
