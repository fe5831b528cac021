/**
 * Where a request really comes from when proxies stand in front of the service, and what the per-address limit of
 * the public lookup counts (decision D4.3).
 */
import ipaddr from "ipaddr.js";
import { type Address, isInside, type Network, parseAddress, parseNetwork } from "../../domain/networks.ts";
import type { HttpCall } from "./http-call.ts";

/** Addresses whose reading is kept; then it begins anew. */
const maxRemembered = 4_096;

/** Finds where a call comes from: the canonical text of an address; IPv4-mapped IPv6 is written as IPv4. */
export type SourceOf = (call: Pick<HttpCall, "connection" | "header">) => string;

/** Whether the peer at the other end of the call's own connection is one of some networks. */
export type PeerTest = (call: Pick<HttpCall, "connection">) => boolean;

/**
 * Makes the function that finds a request's source address.
 *
 * `X-Forwarded-For` counts only when the socket's own peer is a trusted proxy. Its entries are read from the right,
 * each one written by the proxy before it, and the first that is not itself a trusted proxy is the client. What
 * stands further left is the client's own claim. An entry that is no address ends the walk at the last good one.
 *
 * @param options.trustedProxies addresses and CIDR blocks
 * @throws TvsError CONFIG_INVALID that names the entry
 */
export function createSourceAddress(options: {
  trustedProxies: readonly string[];
}): (remoteAddress: string, xForwardedFor: string | null | undefined) => string {
  const networks = options.trustedProxies.map(parseNetwork);
  const peerOf = remembered((remoteAddress) => {
    const peer = parseAddress(remoteAddress);
    const address = peer?.toString() ?? remoteAddress;
    return { address, proxy: peer !== null && isInside(peer, networks) ? peer : null };
  });
  return (remoteAddress, xForwardedFor) => {
    const { address, proxy } = peerOf(remoteAddress);
    return proxy === null ? address : walk(proxy, xForwardedFor ?? "", networks).toString();
  };
}

/**
 * Makes the test of a call's own peer. No header has a say: what a proxy further away has written is only as good as
 * the nearest one's word.
 *
 * @param entries addresses and CIDR blocks
 * @throws TvsError CONFIG_INVALID that names the entry
 */
export function createPeerTest(entries: readonly string[]): PeerTest {
  const networks = entries.map(parseNetwork);
  const isOne = remembered((remoteAddress) => {
    const peer = parseAddress(remoteAddress);
    return peer !== null && isInside(peer, networks);
  });
  return ({ connection }) => networks.length > 0 && isOne(connection.remoteAddress);
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
 * The keys under which an address is rate limited, the narrowest first. An IPv6 address counts by its /64, the
 * smallest block that one customer is given, and by its /48, the largest that any customer may have for the asking;
 * an IPv4 address counts as it is.
 *
 * @param address as `createSourceAddress` finds it; text that is no address is its own key
 */
export const rateLimitKeys: (address: string) => readonly string[] = remembered((address) => {
  const parsed = parseAddress(address);
  if (parsed === null || parsed.kind() === "ipv4") return [parsed?.toString() ?? address];
  return [64, 48].map((bits) => `${block(parsed as ipaddr.IPv6, bits)}/${bits}`);
});

function block({ parts }: ipaddr.IPv6, bits: number): ipaddr.IPv6 {
  return new ipaddr.IPv6(parts.map((part, at) => (at < bits / 16 ? part : 0)));
}

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
