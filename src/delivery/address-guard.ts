/**
 * Keeps webhooks out of the operator's own network (server-side request forgery; decision D10.4). A partner chooses the
 * URL, so the guard treats the URL and the IP addresses of its host as hostile until a check finds them public.
 */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import type { ApiKeyKind } from "../domain/credentials.ts";
import { withTimeout } from "../domain/deadline.ts";
import { TvsError } from "../domain/errors.ts";
import type { Settings } from "../domain/settings.ts";

/** The reason of a refusal, which is also the error code of a failed attempt. */
type EndpointRefusal = "ENDPOINT_INVALID" | "HOST_UNRESOLVED" | "ADDRESS_REFUSED";

/** The error of a refused endpoint (code `REFUSED`). Its message never repeats the URL's path or query. */
export class EndpointError extends TvsError {
  readonly refusal: EndpointRefusal;

  constructor(refusal: EndpointRefusal, message: string, options: { cause?: unknown } = {}) {
    super("REFUSED", message, options);
    this.name = "EndpointError";
    this.refusal = refusal;
  }
}

type GuardOptions = {
  /** If true, http and every IP address are allowed ({@link isPrivateAddressAllowed}). */
  readonly allowPrivate: boolean;
};

/** Finds every IP address of a host name; rejects if it finds none. */
type Resolver = (host: string) => Promise<readonly string[]>;

type ResolveOptions = GuardOptions & {
  /** The function that resolves the host name; the system's resolver by default. */
  readonly resolver?: Resolver;
  /** Time limit of the resolver; 5 s by default. */
  readonly timeoutMs?: number;
};

export type ResolvedEndpoint = {
  readonly url: URL;
  /** The checked IP addresses: at least one, IPv4 first, without duplicates. Connect to no other address. */
  readonly addresses: readonly string[];
};

const systemResolver: Resolver = async (host) =>
  (await lookup(host, { all: true })).map(({ address }) => address);
const maxUrlLength = 2048;
const resolveTimeoutMs = 5000;
/** The only IPv6 block of global unicast addresses (RFC 4291, IANA). */
const globalUnicast = ipaddr.IPv6.parseCIDR("2000::/3");

/**
 * Returns why an IP address is not public: the IANA special-purpose registries list it, it is multicast or IPv6 outside
 * global unicast, or it contains an IPv4 address to which a translator would forward. An unusual spelling is refused,
 * because a connection would resolve it as a name. test/delivery/address-guard.test.ts checks all registered blocks.
 * @param ip IPv6 without brackets
 * @returns null for a public address
 */
export function findNonPublicRange(ip: string): string | null {
  if (!ipaddr.isValid(ip)) return "not an IP address";
  const range = specialRange(ipaddr.parse(ip));
  if (range !== null) return range;
  return isIP(ip) === 0 || ip.includes("%") ? "unusual spelling" : null;
}

function specialRange(address: ipaddr.IPv4 | ipaddr.IPv6): string | null {
  const range = address.range();
  if (range !== "unicast") return range.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return address instanceof ipaddr.IPv6 && !address.match(globalUnicast) ? "not global unicast" : null;
}

/** The URL of a receiver on this machine. Only a port or path may follow the host, so `localhost.example` does not match. */
const localReceiverUrl = /^http:\/\/(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?(\/|$)/;

/** Returns true if the setting allows private IP addresses, or a sandbox's webhook goes to a receiver on this machine. */
export function isPrivateAddressAllowed(
  url: string,
  {
    keyKind,
    allowPrivateWebhooks,
  }: Pick<Settings, "allowPrivateWebhooks"> & { readonly keyKind: ApiKeyKind },
): boolean {
  return allowPrivateWebhooks || (keyKind === "test" && localReceiverUrl.test(url));
}

/**
 * Parses an endpoint's URL: https (or http with `allowPrivate`), a host, no user information, no fragment. An IP address
 * is classified after parsing, because the parser turns `0x7f.1`, `017700000001` and `127.1` into 127.0.0.1.
 * @throws EndpointError
 */
export function parseEndpointUrl(text: string, { allowPrivate }: GuardOptions): URL {
  checkSpelling(text, allowPrivate);
  const url = URL.parse(text);
  // The parser's own error would repeat the URL, whose query may contain a secret.
  if (url === null) throw invalid("it cannot be read as a URL; see to its host and port");
  const host = hostOfUrl(url);
  if (url.port === "0") throw invalid("port 0 cannot be connected to; name a port from 1 to 65535");
  if (host.endsWith(".")) throw invalid("the host ends in a dot; leave the dot away");
  if (!allowPrivate && /(^|\.)localhost$/.test(host)) throw refusedAddress(host, "loopback");
  if (!allowPrivate && isIP(host) !== 0) requirePublic(host, host);
  return url;
}

/** Refuses text that the URL parser would silently correct or drop. */
function checkSpelling(text: string, allowPrivate: boolean): void {
  if (text.length > maxUrlLength) throw invalid(`it is longer than ${maxUrlLength} characters`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  if (/[\u0000-\u0020\u007f\\]/.test(text)) throw invalid("it has a space, control character or backslash");
  const [, scheme = "", authority = ""] = /^([^:/?#]*):\/\/([^/?#]*)/.exec(text) ?? [];
  const schemes = allowPrivate ? ["https", "http"] : ["https"];
  if (!schemes.includes(scheme.toLowerCase())) {
    throw invalid(`it must begin with ${schemes.map((name) => `${name}://`).join(" or ")}`);
  }
  if (authority.includes("@")) throw invalid("it carries user information; leave the part before @ away");
  if (text.includes("#")) throw invalid("it has a fragment; leave # and what follows away");
  if (authority === "") throw invalid("it has no host");
}

export function hostOfUrl(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1");
}

/**
 * Checks an endpoint's URL and all IP addresses of its host, and refuses the endpoint if one address is not public. The
 * check runs when an endpoint is saved, and before each attempt. The attempt connects to a returned address, so a later
 * change of the DNS has no effect on the attempt.
 * @throws EndpointError with the reason, which is `HOST_UNRESOLVED` if the name has no address
 */
export async function resolveEndpoint(endpoint: string | URL, options: ResolveOptions) {
  const url = parseEndpointUrl(String(endpoint), options);
  const host = hostOfUrl(url);
  const addresses = isIP(host) === 0 ? await resolveHost(host, options) : [host];
  if (!options.allowPrivate) for (const address of addresses) requirePublic(host, address);
  return { url, addresses };
}

async function resolveHost(host: string, options: ResolveOptions): Promise<string[]> {
  const { resolver = systemResolver, timeoutMs = resolveTimeoutMs } = options;
  // The system's resolver has no time limit of its own.
  const late = () => new Error(`no answer in ${timeoutMs} ms`);
  const found = await withTimeout(resolver(host), { ms: timeoutMs, late }).catch((cause: unknown) => {
    const message = `webhook host ${host} could not be resolved; check its spelling, and this machine's DNS`;
    throw new EndpointError("HOST_UNRESOLVED", message, { cause });
  });
  // If the resolver returns a name, the connection would resolve that name itself, to an unchecked address.
  const addresses = [...new Set(found)].filter((address) => isIP(address) !== 0);
  if (addresses.length === 0 || addresses.length < new Set(found).size)
    throw new EndpointError("HOST_UNRESOLVED", `webhook host ${host} did not resolve to an IP address`);
  // IPv4 comes first, because many machines have no IPv6 route.
  return addresses.sort((left, right) => isIP(left) - isIP(right));
}

function requirePublic(host: string, address: string): void {
  const range = findNonPublicRange(address);
  if (range !== null) throw refusedAddress(host === address ? host : `${host} (${address})`, range);
}

function invalid(reason: string): EndpointError {
  return new EndpointError("ENDPOINT_INVALID", `webhook URL refused: ${reason}`);
}

function refusedAddress(what: string, range: string): EndpointError {
  const advice = "use a public one, or --allow-private-webhooks in a sandbox";
  const message = `webhook address ${what} is not public (${range}); ${advice}`;
  return new EndpointError("ADDRESS_REFUSED", message);
}
