import { expect, test } from "bun:test";
import { checkToken, linkLifeMs, mintLink, readPlace, writePlace } from "../../src/console/access.ts";
import { deriveSecrets, newMasterKey } from "../../src/domain/secrets.ts";

const secrets = deriveSecrets(newMasterKey());
const place = { port: 9090, id: "this-service" };
const now = Date.parse("2026-03-01T09:30:00Z");
const tokenOf = ({ url }: { url: string }) => new URL(url).searchParams.get("token") ?? "";
const verdictOf = (token: string, at = now) => checkToken(token, { secrets, place, now: at });

test("a console link leads to this machine, and is valid for five minutes", () => {
  const link = mintLink(secrets, place, now);
  expect(link.url).toStartWith("http://127.0.0.1:9090/open?token=");
  expect(link.expiresAt).toBe(now + linkLifeMs);
  const token = tokenOf(link);
  expect([now, link.expiresAt - 1, link.expiresAt].map((at) => verdictOf(token, at))).toEqual([
    "good",
    "good",
    "expired",
  ]);
});

test.each([
  ["of another master key", deriveSecrets(newMasterKey()), place],
  ["of an earlier start of the service", secrets, { ...place, id: "the-earlier-one" }],
  ["for another port", secrets, { ...place, port: 9191 }],
])("a console link %s is unknown", (_, own, where) => {
  expect(verdictOf(tokenOf(mintLink(own, where, now)))).toBe("unknown");
});

test("a console link has exactly one valid spelling, so that it can be used only once", () => {
  const token = tokenOf(mintLink(secrets, place, now));
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const good = [...alphabet].filter((last) => verdictOf(token.slice(0, -1) + last) === "good");
  expect(good).toEqual([token.slice(-1)]);
});

test("a console link is unknown if its expiry was changed or it is malformed", () => {
  const token = tokenOf(mintLink(secrets, place, now));
  const [expiry = "", nonce = "", mac = ""] = token.split(".");
  const later = (Number.parseInt(expiry, 36) + 60_000).toString(36);
  const others = [`${later}.${nonce}.${mac}`, `${expiry}.${nonce}.${"A".repeat(43)}`, "", `${token}A`, ".."];
  expect(others.map((one) => verdictOf(one))).toEqual(others.map(() => "unknown"));
});

test("readPlace reads the stored place of the console as writePlace wrote it", () => {
  const written = { port: 9464, id: "01890000-0000-7000-8000-000000000001" };
  expect(readPlace(writePlace(written))).toEqual(written);
});

test.each([[null], [""], ["9464"], ["9464 x\n"]])("the console address %p is refused with advice", (text) => {
  expect(() => readPlace(text)).toThrow("restart it with `tvs serve --admin-port 9464`");
});
