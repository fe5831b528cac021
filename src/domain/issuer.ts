/** The issuer's address: what may stand for a service for years, and what cannot. */

/** Whether a service that listens there is reached from this machine alone. */
export function isLoopbackHost(host: string): boolean {
  const name = hostOf(`http://${host.includes(":") ? `[${host.replace(/^\[|\]$/g, "")}]` : host}`);
  return /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\]|\[::ffff:7f[0-9a-f]{2}:[0-9a-f]+\])$/.test(name);
}

/** An address that only means "every address of this machine", by which nobody can reach it. */
export function isWildcard(issuer: string): boolean {
  return /^(0\.0\.0\.0|\[::\]|\[::ffff:0:0\])$/.test(hostOf(issuer));
}

/** What an issuer lacks to be evidence for others; null for one that may go live. */
export function issuerFlaw(issuer: string): "wildcard" | "loopback" | "http" | null {
  if (isWildcard(issuer)) return "wildcard";
  if (isLoopbackHost(hostOf(issuer))) return "loopback";
  return /^https:/i.test(issuer) ? null : "http";
}

/** As the URL standard writes it: an IPv4 address in four parts, an IPv6 one in brackets, a name in lower case. */
function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).hostname.replace(/\.$/, "") : "";
}
