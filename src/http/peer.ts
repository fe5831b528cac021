/**
 * Reads the certificate and the IP address of the client behind a proxy, and makes the keys by which IP addresses are
 * rate limited (decision D4.3).
 */

import ipaddr from "ipaddr.js";
import { maxCertificateBytes, type PresentedCertificate, parseCertificate } from "../domain/certificates.ts";
import type { IpAddress, IpBlock } from "../domain/networks.ts";
import { isInNetworks, parseIpAddress, parseNetwork } from "../domain/networks.ts";

/** A structured-field byte sequence (RFC 8941, 3.3.5) without parameters, as RFC 9440, 2.1 prescribes. */
const byteSequence = /^:([A-Za-z0-9+/]+={0,2}):$/;

/**
 * Reads the client certificate in a proxy's `Client-Cert` header (RFC 9440): base64 between colons, of exactly one DER
 * certificate. A header is malformed if it has several values (two header lines arrive joined by a comma), parameters,
 * inner white space, base64 that is not canonical, or bytes after the certificate.
 *
 * The certificate is not verified, and `Client-Cert-Chain` is not read: partners are recognised by fingerprint alone.
 *
 * @param value the header's value, if the request has one
 * @returns null if the header is absent or malformed; it never throws
 */
export function parseClientCertHeader(value: string | null | undefined): PresentedCertificate | null {
  const base64 = byteSequence.exec(value?.trim() ?? "")?.[1];
  if (base64 === undefined || base64.length > (maxCertificateBytes / 3) * 4) return null;
  const der = Buffer.from(base64, "base64");
  // Refuses base64 whose unused last bits are not 0: such base64 would be a second text of the same certificate.
  return der.toString("base64") === base64 ? parseCertificate(der) : null;
}

/** A cache of IP addresses is emptied when it holds this many addresses. */
const maxCachedAddresses = 4_096;

/**
 * Makes the function that finds the IP address of a request's client.
 *
 * `X-Forwarded-For` is read only if the connection comes from a trusted proxy. Each proxy appends the address that it
 * was called from, so the entries are read from the right: the first that is not a trusted proxy is the client. Entries
 * further left may be invented by the client. If an entry is not an IP address, the address to its right is returned.
 *
 * @param options.trustedProxies IP addresses and CIDR blocks
 * @throws TvsError CONFIG_INVALID that names the invalid entry
 */
export function createClientAddressFinder(options: {
  trustedProxies: readonly string[];
}): (remoteAddress: string, xForwardedFor: string | null | undefined) => string {
  const networks = options.trustedProxies.map(parseNetwork);
  const peerOf = cacheByAddress((remoteAddress) => {
    const peer = parseIpAddress(remoteAddress);
    const address = peer?.toString() ?? remoteAddress;
    return { address, proxy: peer !== null && isInNetworks(peer, networks) ? peer : null };
  });
  return (remoteAddress, xForwardedFor) => {
    const { address, proxy } = peerOf(remoteAddress);
    return proxy === null ? address : findClient(proxy, xForwardedFor ?? "", networks).toString();
  };
}

/**
 * Makes a function that checks whether an IP address is in one of the networks. The function reads no headers, because
 * anybody can set headers.
 * @param entries IP addresses and CIDR blocks
 * @throws TvsError CONFIG_INVALID that names the invalid entry
 */
export function createNetworkMatcher(entries: readonly string[]): (remoteAddress: string) => boolean {
  const networks = entries.map(parseNetwork);
  const isOne = cacheByAddress((remoteAddress) => {
    const peer = parseIpAddress(remoteAddress);
    return peer !== null && isInNetworks(peer, networks);
  });
  return (remoteAddress) => networks.length > 0 && isOne(remoteAddress);
}

/** Caches a function of IP addresses, because parsing an address costs more than all other checks of a public lookup. */
function cacheByAddress<T>(compute: (address: string) => T): (address: string) => T {
  const known = new Map<string, T>();
  return (address) => {
    const found = known.get(address);
    if (found !== undefined) return found;
    if (known.size >= maxCachedAddresses) known.clear();
    const value = compute(address);
    known.set(address, value);
    return value;
  };
}

/**
 * Makes the keys under which an IP address is rate limited, the narrowest first. The keys of an IPv6 address are its /64,
 * the smallest block that a provider gives a customer, and its /48, the largest. The key of an IPv4 address is the address.
 *
 * @param address an IP address, as {@link createClientAddressFinder} finds it; any other text is its own key
 */
export const deriveRateLimitKeys: (address: string) => readonly string[] = cacheByAddress((address) => {
  const parsed = parseIpAddress(address);
  if (parsed === null || parsed.kind() === "ipv4") return [parsed?.toString() ?? address];
  return [64, 48].map((bits) => `${maskAddress(parsed as ipaddr.IPv6, bits)}/${bits}`);
});

function maskAddress({ parts }: ipaddr.IPv6, bits: number): ipaddr.IPv6 {
  return new ipaddr.IPv6(parts.map((part, at) => (at < bits / 16 ? part : 0)));
}

function findClient(peer: IpAddress, xForwardedFor: string, networks: readonly IpBlock[]): IpAddress {
  let current = peer;
  // The loop is bounded, because the listener limits the bytes of a request's headers.
  for (const entry of xForwardedFor.split(",").reverse()) {
    const next = parseForwarded(entry.trim());
    if (next === null) return current;
    current = next;
    if (!isInNetworks(current, networks)) return current;
  }
  return current;
}

/** Parses an entry of `X-Forwarded-For`. Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function parseForwarded(entry: string): IpAddress | null {
  const withPort = /^(?:\[([^\]]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d{1,5})?$/.exec(entry);
  return parseIpAddress(withPort?.[1] ?? withPort?.[2] ?? entry);
}
