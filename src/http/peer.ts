/**
 * Reads the certificate and the IP address of the client behind a proxy, and makes the keys by which IP addresses are
 * rate limited (decision D4.3).
 */

import ipaddr from "ipaddr.js";
import { maxDerBytes, type PresentedCertificate, parseCertificate } from "../domain/certificates.ts";
import { type IpAddress, type IpBlock, isInside, parseIpAddress, parseNetwork } from "../domain/networks.ts";

/** A structured-field byte sequence (RFC 8941, 3.3.5) without parameters, as RFC 9440, 2.1 prescribes. */
const byteSequence = /^:([A-Za-z0-9+/]+={0,2}):$/;

/**
 * Reads the client certificate in a proxy's `Client-Cert` header (RFC 9440): base64 between colons, of exactly one DER
 * certificate. Malformed are several values (two header lines arrive joined by a comma), parameters, inner white space,
 * base64 that is not canonical, and bytes after the certificate.
 *
 * The certificate is not verified, and `Client-Cert-Chain` is not read: partners are recognised by fingerprint alone.
 *
 * @param value the header's value, if the request has one
 * @returns null if the header is absent or malformed; it never throws
 */
export function parseClientCertHeader(value: string | null | undefined): PresentedCertificate | null {
  const base64 = byteSequence.exec(value?.trim() ?? "")?.[1];
  if (base64 === undefined || base64.length > (maxDerBytes / 3) * 4) return null;
  const der = Buffer.from(base64, "base64");
  // Refuses base64 whose unused last bits are not 0: it would be a second text of the same certificate.
  return der.toString("base64") === base64 ? parseCertificate(der) : null;
}

/** A cache of IP addresses is emptied when it holds this many. */
const maxRemembered = 4_096;

/**
 * Makes the function that finds the IP address of a request's client.
 *
 * `X-Forwarded-For` is read only if the connection comes from a trusted proxy. Each proxy appends the address that it
 * was called from, so the entries are read from the right: the first that is not a trusted proxy is the client. Entries
 * further left may be invented by the client. At an entry that is not an IP address, the one read before it is returned.
 *
 * @param options.trustedProxies IP addresses and CIDR blocks
 * @throws TvsError CONFIG_INVALID that names the invalid entry
 */
export function createClientAddressFinder(options: {
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
 * Makes the test whether a connection comes from some networks. Headers are not read, because any client can send them.
 *
 * @param entries IP addresses and CIDR blocks
 * @throws TvsError CONFIG_INVALID that names the invalid entry
 */
export function createNetworkMatcher(entries: readonly string[]): (remoteAddress: string) => boolean {
  const networks = entries.map(parseNetwork);
  const isOne = remembered((remoteAddress) => {
    const peer = parseIpAddress(remoteAddress);
    return peer !== null && isInside(peer, networks);
  });
  return (remoteAddress) => networks.length > 0 && isOne(remoteAddress);
}

/** Caches a function of IP addresses, because parsing an address costs more than all other checks of a public lookup. */
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
 * Makes the keys under which an IP address is rate limited, the narrowest first. The keys of an IPv6 address are its /64,
 * the smallest block that a provider gives a customer, and its /48, the largest. The key of an IPv4 address is itself.
 *
 * @param address as `createClientAddressFinder` finds it; the key of other text is the text
 */
export const deriveRateLimitKeys: (address: string) => readonly string[] = remembered((address) => {
  const parsed = parseIpAddress(address);
  if (parsed === null || parsed.kind() === "ipv4") return [parsed?.toString() ?? address];
  return [64, 48].map((bits) => `${block(parsed as ipaddr.IPv6, bits)}/${bits}`);
});

function block({ parts }: ipaddr.IPv6, bits: number): ipaddr.IPv6 {
  return new ipaddr.IPv6(parts.map((part, at) => (at < bits / 16 ? part : 0)));
}

function walk(peer: IpAddress, xForwardedFor: string, networks: readonly IpBlock[]): IpAddress {
  let current = peer;
  // The loop is bounded, because the listener limits the bytes of a request's headers.
  for (const entry of xForwardedFor.split(",").reverse()) {
    const next = parseForwarded(entry.trim());
    if (next === null) return current;
    current = next;
    if (!isInside(current, networks)) return current;
  }
  return current;
}

/** Parses an entry of `X-Forwarded-For`. Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function parseForwarded(entry: string): IpAddress | null {
  const withPort = /^(?:\[([^\]]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d{1,5})?$/.exec(entry);
  return parseIpAddress(withPort?.[1] ?? withPort?.[2] ?? entry);
}
