/**
 * Address blocks that no webhook may be sent to. The IANA special-purpose registries for IPv4 and IPv6, the
 * multicast blocks and what IPv6 has deprecated; whole blocks, even where the registry calls a few addresses
 * inside one "globally reachable", since nobody receives webhooks on those.
 *
 * An address is named after the first entry that holds it, so a block stands before the wider one around it.
 */

/** A block in CIDR form, and what an operator is told it is. */
export type SpecialRange = readonly [cidr: string, name: string];

export const specialIpv4Ranges: readonly SpecialRange[] = [
  ["0.0.0.0/32", "unspecified"],
  ["0.0.0.0/8", "this network"],
  ["10.0.0.0/8", "private"],
  ["100.64.0.0/10", "shared address space"],
  ["127.0.0.0/8", "loopback"],
  ["169.254.0.0/16", "link-local"],
  ["172.16.0.0/12", "private"],
  ["192.0.0.0/24", "IETF protocol assignments"],
  ["192.0.2.0/24", "documentation"],
  ["192.31.196.0/24", "AS112"],
  ["192.52.193.0/24", "AMT relay"],
  ["192.88.99.0/24", "6to4 relay"],
  ["192.168.0.0/16", "private"],
  ["192.175.48.0/24", "AS112"],
  ["198.18.0.0/15", "benchmarking"],
  ["198.51.100.0/24", "documentation"],
  ["203.0.113.0/24", "documentation"],
  ["224.0.0.0/4", "multicast"],
  ["255.255.255.255/32", "broadcast"],
  ["240.0.0.0/4", "reserved"],
];

export const specialIpv6Ranges: readonly SpecialRange[] = [
  ["::/128", "unspecified"],
  ["::1/128", "loopback"],
  // Every form that carries an IPv4 address is refused whatever it carries: a translator on the way would
  // send it on to that address, and a public receiver has no need of it.
  ["::ffff:0:0/96", "IPv4-mapped"],
  ["::ffff:0:0:0/96", "IPv4-translated"],
  ["::/96", "IPv4-compatible"],
  ["64:ff9b::/96", "IPv4/IPv6 translation"],
  ["64:ff9b:1::/48", "IPv4/IPv6 translation"],
  ["2001::/32", "Teredo"],
  ["2002::/16", "6to4"],
  ["100::/64", "discard-only"],
  ["100:0:0:1::/64", "dummy prefix"],
  ["2001:2::/48", "benchmarking"],
  ["2001:3::/32", "AMT relay"],
  ["2001:4:112::/48", "AS112"],
  ["2001:10::/28", "ORCHID"],
  ["2001:20::/28", "ORCHIDv2"],
  ["2001:30::/28", "drone remote identification"],
  ["2001::/23", "IETF protocol assignments"],
  ["2001:db8::/32", "documentation"],
  ["3fff::/20", "documentation"],
  ["2620:4f:8000::/48", "AS112"],
  ["5f00::/16", "SRv6 segment identifiers"],
  ["fc00::/7", "unique local"],
  ["fe80::/10", "link-local"],
  ["fec0::/10", "site-local"],
  ["ff00::/8", "multicast"],
];

/** The only IPv6 block from which global unicast addresses are given out (RFC 4291, IANA). */
export const globalUnicastIpv6 = "2000::/3";
