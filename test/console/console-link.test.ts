import { expect, test } from "bun:test";
import {
  checkConsoleLinkToken,
  consoleLinkLifeMs,
  createConsoleLink,
  formatConsoleLocation,
  parseConsoleLocation,
} from "../../src/console/access.ts";
import { deriveSecrets, generateMasterKey } from "../../src/domain/secrets.ts";

const secrets = deriveSecrets(generateMasterKey());
const location = { port: 9090, id: "this-service" };
const now = Date.parse("2026-03-01T09:30:00Z");
const tokenOf = ({ url }: { url: string }) => new URL(url).searchParams.get("token") ?? "";
const verdictOf = (token: string, at = now) => checkConsoleLinkToken(token, { secrets, location, now: at });

test("a link to the console leads to this machine, and is good for five minutes", () => {
  const link = createConsoleLink(secrets, location, now);
  expect(link.url).toStartWith("http://127.0.0.1:9090/open?token=");
  expect(link.expiresAt).toBe(now + consoleLinkLifeMs);
  const token = tokenOf(link);
  expect([now, link.expiresAt - 1, link.expiresAt].map((at) => verdictOf(token, at))).toEqual([
    "good",
    "good",
    "expired",
  ]);
});

test.each([
  ["of another master key", deriveSecrets(generateMasterKey()), location],
  ["of an earlier start of the service", secrets, { ...location, id: "the-earlier-one" }],
  ["for another port", secrets, { ...location, port: 9191 }],
])("a link to the console %s is unknown", (_, own, where) => {
  expect(verdictOf(tokenOf(createConsoleLink(own, where, now)))).toBe("unknown");
});

test("a link to the console has one spelling, so it opens once", () => {
  const token = tokenOf(createConsoleLink(secrets, location, now));
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const good = [...alphabet].filter((last) => verdictOf(token.slice(0, -1) + last) === "good");
  expect(good).toEqual([token.slice(-1)]);
});

test("a console link is refused as unknown if its expiry time was moved later or its form is not a link's", () => {
  const token = tokenOf(createConsoleLink(secrets, location, now));
  const [expiry = "", nonce = "", mac = ""] = token.split(".");
  const later = (Number.parseInt(expiry, 36) + 60_000).toString(36);
  const others = [`${later}.${nonce}.${mac}`, `${expiry}.${nonce}.${"A".repeat(43)}`, "", `${token}A`, ".."];
  expect(others.map((one) => verdictOf(one))).toEqual(others.map(() => "unknown"));
});

test("parseConsoleLocation reads what formatConsoleLocation wrote", () => {
  const written = { port: 9464, id: "01890000-0000-7000-8000-000000000001" };
  expect(parseConsoleLocation(formatConsoleLocation(written))).toEqual(written);
});

test.each([[null], [""], ["9464"], ["9464 x\n"]])(
  "the console's address %p is refused with a remedy",
  (text) => {
    expect(() => parseConsoleLocation(text)).toThrow("restart it with `tvs serve --admin-port 9464`");
  },
);
