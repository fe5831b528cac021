import { expect, test } from "bun:test";
import {
  checkConsoleLinkToken,
  consoleLinkLifeMs,
  createConsoleLink,
  formatConsoleFile,
  parseConsoleFile,
} from "../../src/console/access.ts";
import { deriveSecrets, generateMasterKey } from "../../src/domain/secrets.ts";

const secrets = deriveSecrets(generateMasterKey());
const location = { port: 9090, id: "this-service" };
const now = Date.parse("2026-03-01T09:30:00Z");
const tokenOf = ({ url }: { url: string }) => new URL(url).searchParams.get("token") ?? "";
const verdictOf = (token: string, at = now) => checkConsoleLinkToken(token, { secrets, location, now: at });

test("a console link leads to this machine and works for five minutes", () => {
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
])("a console link %s is unknown", (_, own, where) => {
  expect(verdictOf(tokenOf(createConsoleLink(own, where, now)))).toBe("unknown");
});

test("a console link whose last character is changed is unknown, so no second spelling opens the console", () => {
  const token = tokenOf(createConsoleLink(secrets, location, now));
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const good = [...alphabet].filter((last) => verdictOf(token.slice(0, -1) + last) === "good");
  expect(good).toEqual([token.slice(-1)]);
});

test("a console link with a later expiry time, another MAC or a malformed token is unknown", () => {
  const token = tokenOf(createConsoleLink(secrets, location, now));
  const [expiry = "", nonce = "", mac = ""] = token.split(".");
  const later = (Number.parseInt(expiry, 36) + 60_000).toString(36);
  const others = [`${later}.${nonce}.${mac}`, `${expiry}.${nonce}.${"A".repeat(43)}`, "", `${token}A`, ".."];
  expect(others.map((one) => verdictOf(one))).toEqual(others.map(() => "unknown"));
});

test("parseConsoleFile reads what formatConsoleFile wrote", () => {
  const written = { port: 9464, id: "01890000-0000-7000-8000-000000000001" };
  expect(parseConsoleFile(formatConsoleFile(written))).toEqual(written);
});

test.each([[null], [""], ["9464"], ["9464 x\n"]])(
  "parseConsoleFile refuses the file content %p and names the command that helps",
  (text) => {
    expect(() => parseConsoleFile(text)).toThrow("restart it with `tvs serve --admin-port 9464`");
  },
);
