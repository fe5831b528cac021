/**
 * Where a request really comes from when proxies stand in front of the service, and what the per-address limit of
 * the public lookup counts (decisions, Credentials and quotas).
 */
import ipaddr from "ipaddr.js";
import type { HttpCall } from "./http-call.ts";

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = [Address, number];

/** Addresses whose reading is kept; then it begins anew. */
const maxRemembered = 4_096;

/** A `--trusted-proxy` value that is neither an address nor a CIDR block. */
export class TrustedProxyError extends Error {
  readonly code = "TRUSTED_PROXY_INVALID";

  constructor(entry: string) {
    super(
      `trusted proxy ${JSON.stringify(entry)} is not a network: write it as 10.0.0.0/8, 192.0.2.7 or fd00::/8`,
    );
    this.name = "TrustedProxyError";
  }
}

/** The address a request is attributed to. */
export interface SourceAddress {
  /** Canonical text of the address; IPv4-mapped IPv6 is written as IPv4. */
  readonly address: string;
  /** Whether the connection itself comes from a trusted proxy, so that its forwarding headers may be believed. */
  readonly viaTrustedProxy: boolean;
}

/** Finds where a call comes from. */
export type SourceOf = (call: Pick<HttpCall, "connection" | "header">) => SourceAddress;

/**
 * Makes the function that finds a request's source address.
 *
 * `X-Forwarded-For` counts only when the socket's own peer is a trusted proxy. Its entries are read from the right,
 * each one written by the proxy before it, and the first that is not itself a trusted proxy is the client. What
 * stands further left is the client's own claim. An entry that is no address ends the walk at the last good one.
 *
 * @param options.trustedProxies addresses and CIDR blocks
 * @throws TrustedProxyError (`TRUSTED_PROXY_INVALID`) that names the entry
 */
export function createSourceAddress(options: {
  trustedProxies: readonly string[];
}): (remoteAddress: string, xForwardedFor: string | null | undefined) => SourceAddress {
  const networks = options.trustedProxies.map(parseNetwork);
  const peerOf = remembered((remoteAddress) => {
    const peer = parseAddress(remoteAddress);
    const source = { address: peer?.toString() ?? remoteAddress, viaTrustedProxy: false };
    return { source, proxy: peer !== null && isInside(peer, networks) ? peer : null };
  });
  return (remoteAddress, xForwardedFor) => {
    const { source, proxy } = peerOf(remoteAddress);
    if (proxy === null) return source;
    return { address: walk(proxy, xForwardedFor ?? "", networks).toString(), viaTrustedProxy: true };
  };
}

/** Reading an address costs more than a look-up's other checks together, and a caller has many calls. */
function remembered<T>(compute: (address: string) => T): (address: string) => T {
  const known = new Map<string, T>();
  return (address) => {
    const found = known.get(address);
    if (found !== undefined) return found;
    if (known.size >= maxRemembered) known.clear();
    const value = compute(address);
    known.set(address, value);
    return value;
  };
}

/**
 * The key under which an address is rate limited: an IPv6 address counts by its /64, the smallest block that one
 * customer is given, an IPv4 address as it is.
 *
 * @param address as `createSourceAddress` returns it; text that is no address is its own key
 */
export const rateLimitKey: (address: string) => string = remembered((address) => {
  const parsed = parseAddress(address);
  if (parsed === null || parsed.kind() === "ipv4") return parsed?.toString() ?? address;
  return `${new ipaddr.IPv6([...(parsed as ipaddr.IPv6).parts.slice(0, 4), 0, 0, 0, 0])}/64`;
});

function walk(peer: Address, xForwardedFor: string, networks: readonly Network[]): Address {
  let current = peer;
  // The header is bounded by the listener's limit on header bytes, and so is this loop.
  for (const entry of xForwardedFor.split(",").reverse()) {
    const next = parseForwarded(entry.trim());
    if (next === null) return current;
    current = next;
    if (!isInside(current, networks)) return current;
  }
  return current;
}

/** Some proxies write the port too: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function parseForwarded(entry: string): Address | null {
  const withPort = /^(?:\[([^\]]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d{1,5})?$/.exec(entry);
  return parseAddress(withPort?.[1] ?? withPort?.[2] ?? entry);
}

function parseAddress(text: string): Address | null {
  // A zone (`fe80::1%eth0`) names a network card, not an address.
  const bare = text.replace(/%.*$/, "");
  // Without the strict form `1`, `0x7f.1` and `010.0.0.1` would be addresses, the last one read as octal.
  if (!bare.includes(":") && !ipaddr.IPv4.isValidFourPartDecimal(bare)) return null;
  return ipaddr.isValid(bare) ? ipaddr.process(bare) : null;
}

function parseNetwork(entry: string): Network {
  const [address, bits, ...rest] = entry.trim().split("/");
  const parsed = parseAddress(address ?? "");
  const mapped = (address ?? "").includes(":") && parsed?.kind() === "ipv4";
  const widest = parsed?.kind() === "ipv4" ? 32 : 128;
  if (parsed === null || rest.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits))) {
    throw new TrustedProxyError(entry);
  }
  // The block `::ffff:10.0.0.0/104` is the IPv4 block 10.0.0.0/8.
  const length = bits === undefined ? widest : Number(bits) - (mapped ? 96 : 0);
  if (length < 0 || length > widest) throw new TrustedProxyError(entry);
  return [parsed, length];
}

function isInside(address: Address, networks: readonly Network[]): boolean {
  return networks.some(([base, bits]) => {
    if (address.kind() !== base.kind()) return false;
    return address.match(base as ipaddr.IPv4 & ipaddr.IPv6, bits);
  });
}
