import { describe, expect, test } from "bun:test";
import {
  checkEndpointUrl,
  EndpointRefused,
  mayBePrivate,
  resolveEndpoint,
} from "../../src/delivery/address-guard.ts";
import { isTvsError } from "../../src/domain/errors.ts";
import { rejection } from "../harness/rejection.ts";

function refusalOf(text: string, allowPrivate = false): EndpointRefused {
  try {
    checkEndpointUrl(text, { allowPrivate });
  } catch (error) {
    if (error instanceof EndpointRefused) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

describe("checkEndpointUrl", () => {
  // biome-ignore format: a list reads better in rows
  test.each([
    "https://hooks.example.org/tvs?token=s3cret", "https://hooks.example.org:1/",
    "https://hooks.example.org:65535/", "HTTPS://HOOKS.example.org", "https://1.1.1.1/hook",
    "https://[2606:4700:4700::1111]:8443/hook", "https://ẹ̀kọ́.example/hook", "https://notlocalhost/",
    "https://localhost.example.org/", "https://hooks.example.org/a@b",
    `https://hooks.example.org/${"x".repeat(2048 - 26)}`,
  ])("%s is accepted", (text) => {
    expect(checkEndpointUrl(text, { allowPrivate: false }).protocol).toBe("https:");
  });

  test("a name beyond ASCII is sent in its ASCII form", () => {
    const url = checkEndpointUrl("https://bücher.example/", { allowPrivate: false });
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
  ])("%s is refused: %s", (text, reason) => {
    const error = refusalOf(text);
    expect([error.refusal, isTvsError(error, "REFUSED")]).toEqual(["ENDPOINT_INVALID", true]);
    expect(error.message).toContain(reason);
  });

  test.each([
    ["https://127.0.0.1/", "loopback"],
    ["https://127.1/", "loopback"],
    ["https://127.0.0.1:8443/", "loopback"],
    ["https://0x7f.0.0.1/", "loopback"],
    ["https://0X7F000001/", "loopback"],
    ["https://0177.0.0.01/", "loopback"],
    ["https://017700000001/", "loopback"],
    ["https://2130706433/", "loopback"],
    ["https://%31%32%37.0.0.1/", "loopback"],
    ["https://１２７.0.0.1/", "loopback"],
    ["https://127。0。0。1/", "loopback"],
    ["https://0/", "unspecified"],
    ["https://10.1/", "private"],
    ["https://0xA9FEA9FE/", "link local"],
    ["https://169.254.169.254/latest/meta-data", "link local"],
    ["https://[::1]/", "loopback"],
    ["https://[0:0:0:0:0:0:0:1]/", "loopback"],
    ["https://[::ffff:127.0.0.1]/", "ipv4 mapped"],
    ["https://[::ffff:7f00:1]/", "ipv4 mapped"],
    ["https://[::127.0.0.1]/", "not global unicast"],
    ["https://[64:ff9b::169.254.169.254]/", "rfc6052"],
    ["https://[2002:a9fe:a9fe::]/", "6to4"],
    ["https://[fd00:ec2::254]/", "unique local"],
    ["https://localhost/", "loopback"],
    ["https://LOCALHOST:8443/", "loopback"],
    ["https://api.localhost/", "loopback"],
  ])("%s is refused: %s", (text, range) => {
    const error = refusalOf(text);
    expect([error.refusal, error.name]).toEqual(["ADDRESS_REFUSED", "EndpointRefused"]);
    const host = new URL(text).hostname.replace(/[[\]]/g, "");
    const advice = "use a public one, or --allow-private-webhooks in a sandbox";
    expect(error.message).toBe(`webhook address ${host} is not public (${range}); ${advice}`);
  });

  test("a final dot hides no address", () => {
    for (const text of ["https://127.0.0.1./", "https://localhost./", "https://0x7f.1./"]) {
      expect(refusalOf(text)).toBeInstanceOf(EndpointRefused);
    }
  });

  test("no message repeats path, query, user or password", () => {
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

  test("allowPrivate adds http and every address, and nothing else", () => {
    for (const text of ["http://127.0.0.1:1/", "http://localhost/", "https://10.0.0.1/", "http://[::1]/"]) {
      expect(checkEndpointUrl(text, { allowPrivate: true })).toBeInstanceOf(URL);
    }
    for (const text of [
      "ftp://localhost/",
      "http://user@localhost/",
      "http://localhost/#a",
      "http://localhost:0/",
    ]) {
      expect(refusalOf(text, true).refusal).toBe("ENDPOINT_INVALID");
    }
    expect(refusalOf("ftp://localhost/", true).message).toEndWith("it must begin with https:// or http://");
  });
});

describe("mayBePrivate", () => {
  const here = [
    "http://localhost:3000",
    "http://localhost/x",
    "http://127.0.0.1:3000/x?y",
    "http://[::1]:3000/",
  ];
  // biome-ignore format: a list reads better in rows
  const elsewhere = [
    "https://localhost:3000/", "http://LOCALHOST.example:3000/", "http://localhost:3000@10.0.0.1/",
    "http://localhost:3000\\@10.0.0.1/", "http://127.0.0.1.example/", "http://10.0.0.1:3000/",
    "http://api.localhost:3000/", "http://10.0.0.1/?to=http://localhost:3000/", "http://127.0.0.1:3000000/",
    "http://127.1/", "http://169.254.169.254/latest",
  ];
  const may = (keyKind: "live" | "test", allowPrivateWebhooks = false) =>
    [...here, ...elsewhere].filter((url) => mayBePrivate(url, { keyKind, allowPrivateWebhooks }));

  test("a sandbox may send to its own machine over http, and to no other private address", () => {
    expect(may("test")).toEqual(here);
  });

  test("a live service may send to no private address, its own machine included", () => {
    expect(may("live")).toEqual([]);
  });

  test("--allow-private-webhooks allows every private address, live or not", () => {
    expect(may("live", true)).toHaveLength(here.length + elsewhere.length);
    expect(may("test", true)).toHaveLength(here.length + elsewhere.length);
  });
});

describe("resolveEndpoint", () => {
  const url = "https://hooks.example.org/hook";
  const answering =
    (...addresses: string[]) =>
    async () =>
      addresses;

  test("answers every address once, IPv4 first", async () => {
    const resolver = answering("2606:4700::1", "1.1.1.1", "1.1.1.1", "1.0.0.1");
    const found = await resolveEndpoint(url, { allowPrivate: false, resolver });
    expect(found.addresses).toEqual(["1.1.1.1", "1.0.0.1", "2606:4700::1"]);
    expect(found.url.href).toBe(url);
  });

  test("the resolver is asked for the ASCII form of the host", async () => {
    const asked: string[] = [];
    const resolver = async (host: string) => {
      asked.push(host);
      return ["1.1.1.1"];
    };
    await resolveEndpoint("https://BÜCHER.example:8443/x", { allowPrivate: false, resolver });
    expect(asked).toEqual(["xn--bcher-kva.example"]);
  });

  test("one private address among public ones refuses the endpoint", async () => {
    const resolver = answering("1.1.1.1", "169.254.169.254");
    const error = await rejection(resolveEndpoint(url, { allowPrivate: false, resolver }));
    expect(error).toMatchObject({ code: "REFUSED", refusal: "ADDRESS_REFUSED" });
    expect(String(error)).toContain("hooks.example.org (169.254.169.254) is not public (link local)");
  });

  test("an address in the URL is never resolved", async () => {
    const resolver = async () => {
      throw new Error("asked");
    };
    expect((await resolveEndpoint("https://1.1.1.1/", { allowPrivate: false, resolver })).addresses).toEqual([
      "1.1.1.1",
    ]);
    expect((await resolveEndpoint("http://[::1]:8/", { allowPrivate: true, resolver })).addresses).toEqual([
      "::1",
    ]);
    const error = await rejection(resolveEndpoint("https://127.1/", { allowPrivate: false, resolver }));
    expect(error).toMatchObject({ refusal: "ADDRESS_REFUSED" });
  });

  test.each([
    ["no address", "did not resolve to an IP address", "", answering()],
    ["a name instead of an address", "did not resolve", "", answering("1.1.1.1", "internal.example")],
    ["an odd spelling", "did not resolve", "", answering("0x08080808")],
    ["a failure", "could not be resolved", "ENOTFOUND", () => Promise.reject(new Error("ENOTFOUND"))],
    ["no answer at all", "could not be resolved", "no answer in 5 ms", () => new Promise<string[]>(() => {})],
  ])("%s is HOST_UNRESOLVED", async (_name, said, cause, resolver) => {
    for (const allowPrivate of [false, true]) {
      const error = await rejection(resolveEndpoint(url, { allowPrivate, resolver, timeoutMs: 5 }));
      expect(error).toMatchObject({ code: "REFUSED", refusal: "HOST_UNRESOLVED" });
      expect(String(error)).toContain(`webhook host hooks.example.org ${said}`);
      expect(String((error as Error).cause)).toContain(cause || "undefined");
    }
  });

  test("the system's resolver knows localhost, which is refused unless private addresses are allowed", async () => {
    const { addresses } = await resolveEndpoint("http://localhost/", { allowPrivate: true });
    for (const address of addresses) expect(["127.0.0.1", "::1"]).toContain(address);
    const error = await rejection(resolveEndpoint("https://localhost/", { allowPrivate: false }));
    expect(error).toMatchObject({ refusal: "ADDRESS_REFUSED" });
  });
});
