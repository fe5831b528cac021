/** Reads the IP addresses, networks and hosts of sockets and settings. */
import ipaddr from "ipaddr.js";
import { TvsError } from "./errors.ts";

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;
/** A block of IP addresses: any address of the block, and the number of leading bits that all its addresses share. */
export type IpBlock = readonly [base: IpAddress, bits: number];

/** Reads an IP address; IPv4-mapped IPv6 becomes IPv4. @returns null if `text` is not an IP address */
export function parseIpAddress(text: string): IpAddress | null {
  // The zone of `fe80::1%eth0` names a network interface, and is not part of the address.
  const bare = text.replace(/%.*$/, "");
  // An IPv4 address has four decimal parts. ipaddr.js also accepts `1` and `0x7f.1`, and reads `010.0.0.1` as octal.
  if (!bare.includes(":") && !ipaddr.IPv4.isValidFourPartDecimal(bare)) return null;
  return ipaddr.isValid(bare) ? ipaddr.process(bare) : null;
}

/** Reads an IP address or a CIDR block. @throws TvsError CONFIG_INVALID that names the entry */
export function parseNetwork(entry: string): IpBlock {
  const [address, bits, ...rest] = entry.trim().split("/");
  const parsed = parseIpAddress(address ?? "");
  const mapped = (address ?? "").includes(":") && parsed?.kind() === "ipv4";
  const widest = parsed?.kind() === "ipv4" ? 32 : 128;
  if (parsed === null || rest.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits)))
    throw notANetwork(entry);
  // The block `::ffff:10.0.0.0/104` is the IPv4 block 10.0.0.0/8.
  const length = bits === undefined ? widest : Number(bits) - (mapped ? 96 : 0);
  if (length < 0 || length > widest) throw notANetwork(entry);
  return [parsed, length];
}

function notANetwork(entry: string): TvsError {
  const message = `${JSON.stringify(entry)} is not a network: write it as 10.0.0.0/8, 192.0.2.7 or fd00::/8`;
  return new TvsError("CONFIG_INVALID", message);
}

export function isInNetworks(address: IpAddress, networks: readonly IpBlock[]): boolean {
  return networks.some(([base, bits]) => {
    if (address.kind() !== base.kind()) return false;
    return address.match(base as ipaddr.IPv4 & ipaddr.IPv6, bits);
  });
}

/** True if a service at this host can be reached from this machine only. */
export function isLoopbackHost(host: string): boolean {
  const name = hostOf(`http://${host.includes(":") ? `[${host.replace(/^\[|\]$/g, "")}]` : host}`);
  return /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\]|\[::ffff:7f[0-9a-f]{2}:[0-9a-f]+\])$/.test(name);
}

/** True if a URL's host means "every IP address of this machine", to which nobody can connect. */
export function hasWildcardHost(issuer: string): boolean {
  return /^(0\.0\.0\.0|\[::\]|\[::ffff:0:0\])$/.test(hostOf(issuer));
}

/** Finds why a URL is unfit as the issuer of a live service. @returns null if the URL is fit */
export function findIssuerFlaw(issuer: string): "wildcard" | "loopback" | "http" | null {
  if (hasWildcardHost(issuer)) return "wildcard";
  if (isLoopbackHost(hostOf(issuer))) return "loopback";
  return /^https:/i.test(issuer) ? null : "http";
}

/** The longest URL that is parsed: the time to parse a host name grows with the square of its length. */
const maxUrlLength = 2_000;

/** Gives a URL's host in normal form: IPv4 in four parts, IPv6 in brackets, lower case; "" if `address` is not a URL. */
function hostOf(address: string): string {
  return address.length <= maxUrlLength && URL.canParse(address)
    ? new URL(address).hostname.replace(/\.$/, "")
    : "";
}
