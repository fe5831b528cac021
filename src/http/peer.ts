/**
 * The client behind a connection: the certificate and the address that a proxy passes on, and the keys of the public
 * lookup's limit for an address (decision D4.3).
 */

import ipaddr from "ipaddr.js";
import { maxDerBytes, type PresentedCertificate, readCertificate } from "../domain/certificates.ts";
import { type IpAddress, isInside, type Network, parseIpAddress, parseNetwork } from "../domain/networks.ts";

/** A structured-field byte sequence (RFC 8941, 3.3.5) without parameters, as RFC 9440, 2.1 prescribes. */
const byteSequence = /^:([A-Za-z0-9+/]+={0,2}):$/;

/**
 * Reads a client certificate that a proxy passes on in the `Client-Cert` header (RFC 9440): one base64 byte sequence
 * between colons that holds exactly one DER certificate. Several values joined by a comma (two such lines arrive so),
 * parameters, white space inside, base64 that is not canonical and bytes after the certificate are all malformed.
 *
 * The certificate is not verified, and `Client-Cert-Chain` is not read: a certificate counts by its fingerprint alone.
 *
 * @param value the header as received, or nothing
 * @returns the certificate, or `null` when absent or malformed; it never throws
 */
export function parseClientCertHeader(value: string | null | undefined): PresentedCertificate | null {
  const base64 = byteSequence.exec(value?.trim() ?? "")?.[1];
  if (base64 === undefined || base64.length > (maxDerBytes / 3) * 4) return null;
  const der = Buffer.from(base64, "base64");
  // Padding bits that are set would let one certificate be written in several ways.
  return der.toString("base64") === base64 ? readCertificate(der) : null;
}

/** Addresses that a cache holds before it is emptied. */
const maxRemembered = 4_096;

/**
 * Makes the function that finds a request's source address.
 *
 * `X-Forwarded-For` counts only when the socket's own peer is a trusted proxy. Its entries are read from the right,
 * each one written by the proxy before it, and the first that is not itself a trusted proxy is the client. The entries
 * further left are the client's own claim. An entry that is not an address ends the walk at the last good one.
 *
 * @param options.trustedProxies addresses and CIDR blocks
 * @throws TvsError CONFIG_INVALID that names the entry
 */
export function createSourceAddress(options: {
  trustedProxies: readonly string[];
}): (remoteAddress: string, xForwardedFor: string | null | undefined) => string {
  const networks = options.trustedProxies.map(parseNetwork);
  const peerOf = remembered((remoteAddress) => {
    const peer = parseIpAddress(remoteAddress);
    const address = peer?.toString() ?? remoteAddress;
    return { address, proxy: peer !== null && isInside(peer, networks) ? peer : null };
  });
  return (remoteAddress, xForwardedFor) => {
    const { address, proxy } = peerOf(remoteAddress);
    return proxy === null ? address : walk(proxy, xForwardedFor ?? "", networks).toString();
  };
}

/**
 * Makes the test whether a connection's peer is in some networks. Headers do not count: only the nearest proxy can vouch
 * for a proxy further away.
 *
 * @param entries addresses and CIDR blocks
 * @throws TvsError CONFIG_INVALID that names the entry
 */
export function createAddressTest(entries: readonly string[]): (remoteAddress: string) => boolean {
  const networks = entries.map(parseNetwork);
  const isOne = remembered((remoteAddress) => {
    const peer = parseIpAddress(remoteAddress);
    return peer !== null && isInside(peer, networks);
  });
  return (remoteAddress) => networks.length > 0 && isOne(remoteAddress);
}

/** Caches results by address: to parse an address costs more than all other checks of a lookup. */
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
 * The keys under which an address is rate limited, the narrowest first. An IPv6 address counts by its /64, the smallest
 * block of one customer, and by its /48, the largest that a customer gets on request. An IPv4 address counts whole.
 *
 * @param address as `createSourceAddress` finds it; other text is its own key
 */
export const rateLimitKeys: (address: string) => readonly string[] = remembered((address) => {
  const parsed = parseIpAddress(address);
  if (parsed === null || parsed.kind() === "ipv4") return [parsed?.toString() ?? address];
  return [64, 48].map((bits) => `${block(parsed as ipaddr.IPv6, bits)}/${bits}`);
});

function block({ parts }: ipaddr.IPv6, bits: number): ipaddr.IPv6 {
  return new ipaddr.IPv6(parts.map((part, at) => (at < bits / 16 ? part : 0)));
}

function walk(peer: IpAddress, xForwardedFor: string, networks: readonly Network[]): IpAddress {
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

/** Parses an entry; some proxies write the port too: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function parseForwarded(entry: string): IpAddress | null {
  const withPort = /^(?:\[([^\]]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d{1,5})?$/.exec(entry);
  return parseIpAddress(withPort?.[1] ?? withPort?.[2] ?? entry);
}
