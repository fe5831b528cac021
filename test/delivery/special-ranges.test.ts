import { describe, expect, test } from "bun:test";
import { classifyAddress } from "../../src/delivery/address-guard.ts";

/**
 * First and last address of every block of the IANA special-purpose registries, of the multicast blocks and of what IPv6
 * has deprecated, with what it is, and the public neighbours where there are any. Whole blocks, even where a registry
 * calls a few addresses inside one "globally reachable": nobody receives webhooks on those.
 */
const specials: [name: string, first: string, last: string, ...publicNeighbours: string[]][] = [
  ["this network", "0.0.0.1", "0.255.255.255", "1.0.0.0"],
  ["unspecified", "0.0.0.0", "0.0.0.0"],
  ["private", "10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"],
  ["shared address space", "100.64.0.0", "100.127.255.255", "100.63.255.255", "100.128.0.0"],
  ["loopback", "127.0.0.0", "127.255.255.255", "126.255.255.255", "128.0.0.0"],
  ["link-local", "169.254.0.0", "169.254.255.255", "169.253.255.255", "169.255.0.0"],
  ["private", "172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"],
  ["IETF protocol assignments", "192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0"],
  ["documentation", "192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"],
  ["AS112", "192.31.196.0", "192.31.196.255", "192.31.195.255", "192.31.197.0"],
  ["AMT relay", "192.52.193.0", "192.52.193.255", "192.52.192.255", "192.52.194.0"],
  ["6to4 relay", "192.88.99.0", "192.88.99.255", "192.88.98.255", "192.88.100.0"],
  ["private", "192.168.0.0", "192.168.255.255", "192.167.255.255", "192.169.0.0"],
  ["AS112", "192.175.48.0", "192.175.48.255", "192.175.47.255", "192.175.49.0"],
  ["benchmarking", "198.18.0.0", "198.19.255.255", "198.17.255.255", "198.20.0.0"],
  ["documentation", "198.51.100.0", "198.51.100.255", "198.51.99.255", "198.51.101.0"],
  ["documentation", "203.0.113.0", "203.0.113.255", "203.0.112.255", "203.0.114.0"],
  ["multicast", "224.0.0.0", "239.255.255.255", "223.255.255.255"],
  ["reserved", "240.0.0.0", "255.255.255.254"],
  ["broadcast", "255.255.255.255", "255.255.255.255"],
  ["unspecified", "::", "0:0:0:0:0:0:0:0"],
  ["loopback", "::1", "0000:0000:0000:0000:0000:0000:0000:0001"],
  ["IPv4-mapped", "::ffff:0.0.0.0", "::ffff:ffff:ffff"],
  ["IPv4-translated", "::ffff:0:0:0", "::ffff:0:255.255.255.255"],
  ["IPv4-compatible", "::2", "::ffff:ffff"],
  ["IPv4/IPv6 translation", "64:ff9b::", "64:ff9b::255.255.255.255"],
  ["IPv4/IPv6 translation", "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"],
  ["discard-only", "100::", "100::ffff:ffff:ffff:ffff"],
  ["dummy prefix", "100:0:0:1::", "100::1:ffff:ffff:ffff:ffff"],
  ["Teredo", "2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["IETF protocol assignments", "2001:1::1", "2001:1:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["benchmarking", "2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff"],
  ["AMT relay", "2001:3::", "2001:3:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["AS112", "2001:4:112::", "2001:4:112:ffff:ffff:ffff:ffff:ffff"],
  ["ORCHID", "2001:10::", "2001:1f:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["ORCHIDv2", "2001:20::", "2001:2f:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["drone remote identification", "2001:30::", "2001:3f:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["IETF protocol assignments", "2001:40::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::"],
  ["documentation", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db7::1", "2001:db9::"],
  ["6to4", "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:ffff::1", "2003::"],
  ["AS112", "2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff", "2620:4f:7fff::", "2620:4f:8001::"],
  ["documentation", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3ffe:ffff::1", "3fff:1000::"],
  ["SRv6 segment identifiers", "5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["unique local", "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["link-local", "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["site-local", "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["multicast", "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["not global unicast", "::1:0:0:0:0", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2000::"],
  ["not global unicast", "4000::", "5eff:ffff::", "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["not global unicast", "5f01::", "fbff:ffff::"],
  ["not global unicast", "fe00::", "fe7f:ffff::"],
];

describe("classifyAddress", () => {
  test.each(specials)("%s: %s to %s", (_name, first, last, ...neighbours) => {
    for (const special of [first, last]) expect(classifyAddress(special).public).toBe(false);
    for (const neighbour of neighbours) expect(classifyAddress(neighbour)).toEqual({ public: true });
  });

  // biome-ignore format: a list reads better in rows
  test.each([
    "1.1.1.1", "8.8.8.8", "197.210.0.1", "2606:4700:4700::1111", "2a00:1450:4001::1", "2C0F:F248::1",
  ])("%s is public", (ip) => expect(classifyAddress(ip)).toEqual({ public: true }));

  test.each([
    ["0x7f.1", "loopback"],
    ["0177.0.0.1", "loopback"],
    ["2130706433", "loopback"],
    ["127.1", "loopback"],
    ["012.0.0.1", "private"],
    ["::FFFF:127.0.0.1", "ipv4 mapped"],
    ["::ffff:8.8.8.8", "ipv4 mapped"],
    // ipaddr.js reads this older spelling as the mapped one.
    ["::127.0.0.1", "ipv4 mapped"],
    ["::7f00:1", "not global unicast"],
    ["64:ff9b::7f00:1", "rfc6052"],
    ["2002:7f00:1::", "6to4"],
    ["fe80::1%eth0", "link local"],
    ["0x08080808", "unusual spelling"],
    ["010.8.8.8", "unusual spelling"],
    ["2606:4700::1%eth0", "unusual spelling"],
    ["[::1]", "not an IP address"],
    ["example.org", "not an IP address"],
    ["", "not an IP address"],
    ["1.2.3.256", "not an IP address"],
  ])("%s is refused: %s", (ip, range) => {
    expect(classifyAddress(ip)).toEqual({ public: false, range });
  });
});
