import { describe, expect, test } from "bun:test";
import { checkToken, linkLifeMs, mintLink, readPlace, writePlace } from "../../src/console/access.ts";
import { deriveSecrets, newMasterKey } from "../../src/domain/secrets.ts";

const secrets = deriveSecrets(newMasterKey());
const place = { port: 9090, id: "this-service" };
const now = Date.parse("2026-03-01T09:30:00Z");
const tokenOf = (url: string) => new URL(url).searchParams.get("token") ?? "";
const judge = (token: string, change: Partial<Parameters<typeof checkToken>[1]> = {}) =>
  checkToken(token, { secrets, place, now, ...change });

describe("a link to the console", () => {
  test("leads to this machine, and is good for five minutes", () => {
    const { url, expiresAt } = mintLink(secrets, place, now);
    expect(url).toStartWith("http://127.0.0.1:9090/open?token=");
    expect(expiresAt).toBe(now + linkLifeMs);
    const token = tokenOf(url);
    expect(judge(token)).toBe("good");
    expect(judge(token, { now: expiresAt - 1 })).toBe("good");
    expect(judge(token, { now: expiresAt })).toBe("expired");
  });

  test("is another one each time", () => {
    expect(mintLink(secrets, place, now).url).not.toBe(mintLink(secrets, place, now).url);
  });

  test("is made under the master key: another one's links are unknown", () => {
    const foreign = mintLink(deriveSecrets(newMasterKey()), place, now);
    expect(judge(tokenOf(foreign.url))).toBe("unknown");
  });

  test("dies with the service that it was made for", () => {
    const next = { ...place, id: "the-next-one" };
    expect(judge(tokenOf(mintLink(secrets, place, now).url), { place: next })).toBe("unknown");
  });

  test("that a changed file leads to another port opens nothing, so whoever listens there has a useless token", () => {
    const bent = mintLink(secrets, { ...place, port: 9191 }, now);
    expect(bent.url).toStartWith("http://127.0.0.1:9191/");
    expect(judge(tokenOf(bent.url))).toBe("unknown");
  });

  test("has one spelling: another one of the same bytes would open a second time", () => {
    const token = tokenOf(mintLink(secrets, place, now).url);
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const good = [...alphabet].filter((last) => judge(token.slice(0, -1) + last) === "good");
    expect(good).toEqual([token.slice(-1)]);
  });

  test("cannot be given a later end, and is unknown in any other form", () => {
    const token = tokenOf(mintLink(secrets, place, now).url);
    const [expiry = "", nonce = "", mac = ""] = token.split(".");
    const later = (Number.parseInt(expiry, 36) + 60_000).toString(36);
    const others = [
      `${later}.${nonce}.${mac}`,
      `${expiry}.${nonce}.${"A".repeat(43)}`,
      "",
      `${token}A`,
      "..",
    ];
    expect(others.map((one) => judge(one))).toEqual(others.map(() => "unknown"));
  });
});

describe("what a service keeps of its console", () => {
  test("is read as it was written", () => {
    const kept = { port: 9464, id: "01890000-0000-7000-8000-000000000001" };
    expect(readPlace(writePlace(kept))).toEqual(kept);
  });

  test.each([[null], [""], ["9464"], ["9464 x\n"]])("is refused with what to do where it is %p", (text) => {
    expect(() => readPlace(text)).toThrow("restart it with `tvs serve --admin-port 9464`");
  });
});
