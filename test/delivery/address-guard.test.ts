import { expect, test } from "bun:test";
import {
  EndpointError,
  findNonPublicRange,
  isPrivateAddressAllowed,
  parseEndpointUrl,
  resolveEndpoint,
} from "../../src/delivery/address-guard.ts";
import { isTvsError } from "../../src/domain/errors.ts";
import { catchError } from "../harness/rejection.ts";

function refusalOf(text: string, allowPrivate = false): EndpointError {
  try {
    parseEndpointUrl(text, { allowPrivate });
  } catch (error) {
    if (error instanceof EndpointError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

// biome-ignore format: a list reads better in rows
test.each([
  "https://hooks.example.org/tvs?token=s3cret", "https://hooks.example.org:1/",
  "https://hooks.example.org:65535/", "HTTPS://HOOKS.example.org", "https://1.1.1.1/hook",
  "https://[2606:4700:4700::1111]:8443/hook", "https://ẹ̀kọ́.example/hook", "https://notlocalhost/",
  "https://localhost.example.org/", "https://hooks.example.org/a@b",
  `https://hooks.example.org/${"x".repeat(2048 - 26)}`,
])("the endpoint URL %s is accepted", (text) => {
  expect(parseEndpointUrl(text, { allowPrivate: false }).protocol).toBe("https:");
});

test("a non-ASCII host name of an endpoint is sent in its ASCII form", () => {
  const url = parseEndpointUrl("https://bücher.example/", { allowPrivate: false });
  expect(url.hostname).toBe("xn--bcher-kva.example");
});

test.each([
  ["http://hooks.example.org/", "https://"],
  ["ftp://hooks.example.org/", "https://"],
  ["https:hooks.example.org/", "https://"],
  ["hooks.example.org", "https://"],
  ["a:https://hooks.example.org/", "https://"],
  ["", "https://"],
  ["https://", "no host"],
  ["https:///hook", "no host"],
  ["https://?x", "no host"],
  ["https://user@hooks.example.org/", "user information"],
  ["https://user:pass@hooks.example.org/", "user information"],
  ["https://@hooks.example.org/", "user information"],
  ["https://hooks.example.org/#part", "fragment"],
  ["https://hooks.example.org/#", "fragment"],
  ["https://hooks.example.org:0/", "port 0"],
  ["https://hooks.example.org:65536/", "cannot be read"],
  ["https://hooks.example.org:x/", "cannot be read"],
  ["https://hooks.example.org./", "dot"],
  ["https://[::1/", "cannot be read"],
  ["https://hooks.example.org/a b", "space"],
  [" https://hooks.example.org/", "space"],
  ["https://hooks.example.org\\@127.0.0.1/", "backslash"],
  ["https://hooks.exa\tmple.org/", "control character"],
  [`https://hooks.example.org/${"x".repeat(2048)}`, "longer"],
])("the endpoint URL %s is refused as invalid: %s", (text, reason) => {
  const error = refusalOf(text);
  expect([error.refusal, isTvsError(error, "REFUSED")]).toEqual(["ENDPOINT_INVALID", true]);
  expect(error.message).toContain(reason);
});

/** Makes pairs of address and range from lists of addresses by range. */
const addressesOf = (ranges: Readonly<Record<string, string>>) =>
  Object.entries(ranges).flatMap(([range, list]) => list.split(/\s+/).map((one) => [one, range] as const));

const hosts = addressesOf({
  loopback: `127.0.0.1 127.1 127.0.0.1:8443 0x7f.0.0.1 0X7F000001 0177.0.0.01 017700000001 2130706433
    %31%32%37.0.0.1 １２７.0.0.1 127。0。0。1 [::1] [0:0:0:0:0:0:0:1] localhost LOCALHOST:8443 api.localhost`,
  unspecified: "0",
  private: "10.1",
  "link local": "0xA9FEA9FE 169.254.169.254/latest/meta-data",
  "ipv4 mapped": "[::ffff:127.0.0.1] [::ffff:7f00:1]",
  "not global unicast": "[::127.0.0.1]",
  rfc6052: "[64:ff9b::169.254.169.254]",
  "6to4": "[2002:a9fe:a9fe::]",
  "unique local": "[fd00:ec2::254]",
});

test.each(hosts)("an endpoint at %s is refused because its IP address is not public: %s", (text, range) => {
  const error = refusalOf(`https://${text}/`);
  expect([error.refusal, error.name]).toEqual(["ADDRESS_REFUSED", "EndpointError"]);
  const host = new URL(`https://${text}/`).hostname.replace(/[[\]]/g, "");
  const advice = "use a public one, or --allow-private-webhooks in a sandbox";
  expect(error.message).toBe(`webhook address ${host} is not public (${range}); ${advice}`);
});

test("a final dot in the host does not hide an IP address from the guard", () => {
  for (const text of ["https://127.0.0.1./", "https://localhost./", "https://0x7f.1./"]) {
    expect(refusalOf(text)).toBeInstanceOf(EndpointError);
  }
});

test("the refusal of an endpoint URL never repeats its path, query, user or password", () => {
  const secret = "s3cret";
  const urls = [
    `http://hooks.example.org/${secret}`,
    `https://${secret}:${secret}@hooks.example.org/`,
    `https://hooks.example.org:99999/?token=${secret}`,
    `https://127.0.0.1/${secret}?token=${secret}`,
    `https://hooks.example.org/#${secret}`,
  ];
  for (const url of urls) {
    const error = refusalOf(url);
    expect(`${error.message} ${error.detail} ${error.cause}`).not.toContain(secret);
  }
});

test("allowPrivate allows http and every IP address, and nothing else", () => {
  for (const text of ["http://127.0.0.1:1/", "http://localhost/", "https://10.0.0.1/", "http://[::1]/"]) {
    expect(parseEndpointUrl(text, { allowPrivate: true })).toBeInstanceOf(URL);
  }
  const urls = ["ftp://localhost/", "http://user@localhost/", "http://localhost/#a", "http://localhost:0/"];
  for (const text of urls) expect(refusalOf(text, true).refusal).toBe("ENDPOINT_INVALID");
  expect(refusalOf("ftp://localhost/", true).message).toEndWith("it must begin with https:// or http://");
});

const loopback = ["http://127.0.0.1:3000/x?y", "http://127.0.10.1/", "http://[::1]:3000/"];
const here = ["http://localhost:3000", "http://localhost/x", ...loopback];
// biome-ignore format: a list reads better in rows
const elsewhere = [
  "https://localhost:3000/", "http://LOCALHOST.example:3000/", "http://localhost:3000@10.0.0.1/",
  "http://localhost:3000\\@10.0.0.1/", "http://127.0.0.1.example/", "http://10.0.0.1:3000/",
  "http://api.localhost:3000/", "http://10.0.0.1/?to=http://localhost:3000/", "http://127.0.0.1:3000000/",
  "http://127.1/", "http://169.254.169.254/latest",
];
const may = (keyKind: "live" | "test", allowPrivateWebhooks = false) =>
  [...here, ...elsewhere].filter((url) => isPrivateAddressAllowed(url, { keyKind, allowPrivateWebhooks }));

test("a sandbox may send webhooks to its own machine over http, and to no other private address", () => {
  expect(may("test")).toEqual(here);
});

test("a live service may send webhooks to no private address, its own machine included", () => {
  expect(may("live")).toEqual([]);
});

test("--allow-private-webhooks allows every private address, in a sandbox and in a live service", () => {
  expect(may("live", true)).toHaveLength(here.length + elsewhere.length);
  expect(may("test", true)).toHaveLength(here.length + elsewhere.length);
});

const url = "https://hooks.example.org/hook";
const answering =
  (...addresses: string[]) =>
  () =>
    Promise.resolve(addresses);

test("resolveEndpoint returns every IP address once, IPv4 first", async () => {
  const resolver = answering("2606:4700::1", "1.1.1.1", "1.1.1.1", "1.0.0.1");
  const found = await resolveEndpoint(url, { allowPrivate: false, resolver });
  expect(found.addresses).toEqual(["1.1.1.1", "1.0.0.1", "2606:4700::1"]);
  expect(found.url.href).toBe(url);
});

test("the DNS resolver is asked for the ASCII form of the host", async () => {
  const asked: string[] = [];
  const resolver = async (host: string) => {
    asked.push(host);
    return ["1.1.1.1"];
  };
  await resolveEndpoint("https://BÜCHER.example:8443/x", { allowPrivate: false, resolver });
  expect(asked).toEqual(["xn--bcher-kva.example"]);
});

test("an endpoint is refused if one of its IP addresses is private", async () => {
  const resolver = answering("1.1.1.1", "169.254.169.254");
  const error = await catchError(resolveEndpoint(url, { allowPrivate: false, resolver }));
  expect(error).toMatchObject({ code: "REFUSED", refusal: "ADDRESS_REFUSED" });
  expect(String(error)).toContain("hooks.example.org (169.254.169.254) is not public (link local)");
});

test("an IP address in an endpoint URL is never resolved by DNS", async () => {
  const resolver = () => Promise.reject(new Error("asked"));
  const resolve = (url: string, allowPrivate = false) => resolveEndpoint(url, { allowPrivate, resolver });
  expect(await resolve("https://1.1.1.1/")).toMatchObject({ addresses: ["1.1.1.1"] });
  expect(await resolve("http://[::1]:8/", true)).toMatchObject({ addresses: ["::1"] });
  expect(await catchError(resolve("https://127.1/"))).toMatchObject({ refusal: "ADDRESS_REFUSED" });
});

test.each([
  ["no address", "did not resolve to an IP address", "", answering()],
  ["a name instead of an address", "did not resolve", "", answering("1.1.1.1", "internal.example")],
  ["an odd spelling", "did not resolve", "", answering("0x08080808")],
  ["a failure", "could not be resolved", "ENOTFOUND", () => Promise.reject(new Error("ENOTFOUND"))],
  ["no answer at all", "could not be resolved", "no answer in 5 ms", () => new Promise<string[]>(() => {})],
])("an endpoint is HOST_UNRESOLVED if the DNS resolver gives %s", async (_name, said, cause, resolver) => {
  for (const allowPrivate of [false, true]) {
    const error = await catchError(resolveEndpoint(url, { allowPrivate, resolver, timeoutMs: 5 }));
    expect(error).toMatchObject({ code: "REFUSED", refusal: "HOST_UNRESOLVED" });
    expect(String(error)).toContain(`webhook host hooks.example.org ${said}`);
    expect(String((error as Error).cause)).toContain(cause || "undefined");
  }
});

test("the system's DNS resolver resolves localhost, which is refused unless private addresses are allowed", async () => {
  const { addresses } = await resolveEndpoint("http://localhost/", { allowPrivate: true });
  for (const address of addresses) expect(["127.0.0.1", "::1"]).toContain(address);
  const error = await catchError(resolveEndpoint("https://localhost/", { allowPrivate: false }));
  expect(error).toMatchObject({ refusal: "ADDRESS_REFUSED" });
});

/**
 * The blocks of the IANA special-purpose registries, the multicast blocks and the deprecated blocks of IPv6: name, first
 * and last address, and the public addresses next to the block. A block is refused as a whole, even if a registry calls a
 * few of its addresses "globally reachable", because nobody receives webhooks there.
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

test.each(specials)(
  "the address guard refuses the range %s, from %s to %s, and accepts the public addresses next to it",
  (_name, first, last, ...neighbours) => {
    for (const special of [first, last]) expect(findNonPublicRange(special)).not.toBeNull();
    for (const neighbour of neighbours) expect(findNonPublicRange(neighbour)).toBeNull();
  },
);

// biome-ignore format: a list reads better in rows
test.each([
  "1.1.1.1", "8.8.8.8", "197.210.0.1", "2606:4700:4700::1111", "2a00:1450:4001::1", "2C0F:F248::1",
])("the IP address %s is public", (ip) => expect(findNonPublicRange(ip)).toBeNull());

const addresses = addressesOf({
  loopback: "0x7f.1 0177.0.0.1 2130706433 127.1",
  private: "012.0.0.1",
  // ipaddr.js reads ::127.0.0.1 as an older spelling of the mapped address.
  "ipv4 mapped": "::FFFF:127.0.0.1 ::ffff:8.8.8.8 ::127.0.0.1",
  "not global unicast": "::7f00:1",
  rfc6052: "64:ff9b::7f00:1",
  "6to4": "2002:7f00:1::",
  "link local": "fe80::1%eth0",
  "unusual spelling": "0x08080808 010.8.8.8 2606:4700::1%eth0",
  "not an IP address": "[::1] example.org 1.2.3.256",
});

test.each([...addresses, ["", "not an IP address"] as const])(
  "the IP address %s is not public: %s",
  (ip, range) => expect(findNonPublicRange(ip)).toBe(range),
);
