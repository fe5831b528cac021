import { describe, expect, test } from "bun:test";
import { createSourceAddress, rateLimitKey } from "../../src/server/source-address.ts";

const trustedProxies = ["10.0.0.0/8", "192.0.2.7", "fd00::/8", "::ffff:198.51.100.0/120"];
const sourceAddress = createSourceAddress({ trustedProxies });

describe("source address", () => {
  const cases: [
    name: string,
    remote: string,
    header: string | undefined,
    address: string,
    viaTrustedProxy: boolean,
  ][] = [
    ["no proxy", "203.0.113.9", undefined, "203.0.113.9", false],
    ["a header from anyone is ignored", "203.0.113.9", "1.2.3.4", "203.0.113.9", false],
    ["a trusted proxy is believed", "10.1.2.3", "203.0.113.9", "203.0.113.9", true],
    ["a single address is trusted", "192.0.2.7", "203.0.113.9", "203.0.113.9", true],
    ["its neighbour is not", "192.0.2.8", "203.0.113.9", "192.0.2.8", false],
    ["a trusted proxy without a header", "10.1.2.3", undefined, "10.1.2.3", true],
    ["a trusted proxy with an empty header", "10.1.2.3", "", "10.1.2.3", true],
    ["counted from the right", "10.1.2.3", "1.2.3.4, 203.0.113.9", "203.0.113.9", true],
    ["skipping trusted proxies", "10.1.2.3", "1.2.3.4, 203.0.113.9, 10.9.9.9, fd00::5", "203.0.113.9", true],
    ["all are trusted: the leftmost", "10.1.2.3", "10.0.0.1, 10.0.0.2", "10.0.0.1", true],
    ["a malformed entry ends the walk", "10.1.2.3", "203.0.113.9, unknown, 10.0.0.2", "10.0.0.2", true],
    ["a malformed last entry", "10.1.2.3", "203.0.113.9, nonsense", "10.1.2.3", true],
    ["an empty entry ends the walk", "10.1.2.3", "203.0.113.9,", "10.1.2.3", true],
    [
      "octal, hexadecimal and short forms are malformed",
      "10.1.2.3",
      "010.0.0.1, 0x7f.0.0.1, 1",
      "10.1.2.3",
      true,
    ],
    ["IPv4-mapped peer", "::ffff:203.0.113.9", undefined, "203.0.113.9", false],
    ["IPv4-mapped trusted peer", "::ffff:10.0.0.1", "::ffff:203.0.113.9", "203.0.113.9", true],
    ["IPv4-mapped hexadecimal form", "::ffff:a00:1", "2001:db8::1", "2001:db8::1", true],
    ["an IPv4-mapped block", "198.51.100.200", "203.0.113.9", "203.0.113.9", true],
    ["IPv6 proxy", "fd12::1", "2001:DB8:0:0::1", "2001:db8::1", true],
    ["IPv6 zone", "fe80::1%eth0", undefined, "fe80::1", false],
    ["port after IPv4", "10.1.2.3", "203.0.113.9:4711", "203.0.113.9", true],
    ["port after IPv6", "10.1.2.3", "[2001:db8::1]:4711", "2001:db8::1", true],
    ["a socket that is gone", "", "203.0.113.9", "", false],
  ];
  for (const [name, remote, header, address, viaTrustedProxy] of cases) {
    test(name, () => expect(sourceAddress(remote, header)).toEqual({ address, viaTrustedProxy }));
  }

  test("nobody is trusted by default", () => {
    const strict = createSourceAddress({ trustedProxies: [] });
    expect(strict("10.1.2.3", "203.0.113.9")).toEqual({ address: "10.1.2.3", viaTrustedProxy: false });
  });

  test("every IPv4 address can be trusted without trusting IPv6", () => {
    const all = createSourceAddress({ trustedProxies: ["0.0.0.0/0"] });
    expect(all("203.0.113.9", undefined).viaTrustedProxy).toBe(true);
    expect(all("2001:db8::1", undefined).viaTrustedProxy).toBe(false);
  });

  test("a wrong network is named", () => {
    for (const entry of [
      "10.0.0.0/33",
      "10.0.0/8",
      "proxy.local",
      "",
      "10.0.0.0/",
      "10.0.0.0/8/9",
      "fd00::/129",
      "10.0.0.0/-1",
      "::ffff:10.0.0.0/64",
    ]) {
      const attempt = () => createSourceAddress({ trustedProxies: ["10.0.0.0/8", entry] });
      expect(attempt).toThrow(JSON.stringify(entry));
      expect(codeOf(attempt)).toBe("TRUSTED_PROXY_INVALID");
    }
  });
});

describe("rate limit key", () => {
  test("is the address of IPv4, and the /64 of IPv6", () => {
    expect(rateLimitKey("203.0.113.9")).toBe("203.0.113.9");
    expect(rateLimitKey("::ffff:203.0.113.9")).toBe("203.0.113.9");
    expect(rateLimitKey("2001:db8:1:2:3:4:5:6")).toBe("2001:db8:1:2::/64");
    expect(rateLimitKey("2001:db8:1:2::9")).toBe(rateLimitKey("2001:db8:1:2:ffff::1"));
    expect(rateLimitKey("2001:db8:1:3::9")).not.toBe(rateLimitKey("2001:db8:1:2::9"));
  });

  test("is the text itself of what is no address", () => {
    expect(rateLimitKey("")).toBe("");
  });
});

function codeOf(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
  return undefined;
}
