import { expect, test } from "bun:test";
import { checkToken, linkLifeMs, mintLink, readPlace, writePlace } from "../../src/console/access.ts";
import { deriveSecrets, newMasterKey } from "../../src/domain/secrets.ts";

const secrets = deriveSecrets(newMasterKey());
const place = { port: 9090, id: "this-service" };
const now = Date.parse("2026-03-01T09:30:00Z");
const tokenOf = (url: string) => new URL(url).searchParams.get("token") ?? "";
const judge = (token: string, change: Partial<Parameters<typeof checkToken>[1]> = {}) =>
  checkToken(token, { secrets, place, now, ...change });

test("a link to the console leads to this machine, and is good for five minutes", () => {
  const { url, expiresAt } = mintLink(secrets, place, now);
  expect(url).toStartWith("http://127.0.0.1:9090/open?token=");
  expect(expiresAt).toBe(now + linkLifeMs);
  const token = tokenOf(url);
  expect(judge(token)).toBe("good");
  expect(judge(token, { now: expiresAt - 1 })).toBe("good");
  expect(judge(token, { now: expiresAt })).toBe("expired");
});

test("a link to the console is made under the master key: another one's links are unknown", () => {
  const foreign = mintLink(deriveSecrets(newMasterKey()), place, now);
  expect(judge(tokenOf(foreign.url))).toBe("unknown");
});

test("a link to the console dies with the service that it was made for", () => {
  const next = { ...place, id: "the-next-one" };
  expect(judge(tokenOf(mintLink(secrets, place, now).url), { place: next })).toBe("unknown");
});

test("a link to the console for another port opens nothing", () => {
  const bent = mintLink(secrets, { ...place, port: 9191 }, now);
  expect(bent.url).toStartWith("http://127.0.0.1:9191/");
  expect(judge(tokenOf(bent.url))).toBe("unknown");
});

test("a link to the console has one spelling, so it opens once", () => {
  const token = tokenOf(mintLink(secrets, place, now).url);
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const good = [...alphabet].filter((last) => judge(token.slice(0, -1) + last) === "good");
  expect(good).toEqual([token.slice(-1)]);
});

test("a link to the console cannot be given a later end, and is unknown in any other form", () => {
  const token = tokenOf(mintLink(secrets, place, now).url);
  const [expiry = "", nonce = "", mac = ""] = token.split(".");
  const later = (Number.parseInt(expiry, 36) + 60_000).toString(36);
  const others = [`${later}.${nonce}.${mac}`, `${expiry}.${nonce}.${"A".repeat(43)}`, "", `${token}A`, ".."];
  expect(others.map((one) => judge(one))).toEqual(others.map(() => "unknown"));
});

test("the console's place is read as it was written", () => {
  const kept = { port: 9464, id: "01890000-0000-7000-8000-000000000001" };
  expect(readPlace(writePlace(kept))).toEqual(kept);
});

test.each([[null], [""], ["9464"], ["9464 x\n"]])(
  "the console's place is refused with a remedy where it is %p",
  (text) => {
    expect(() => readPlace(text)).toThrow("restart it with `tvs serve --admin-port 9464`");
  },
);
