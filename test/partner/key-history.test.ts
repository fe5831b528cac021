import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { KeyHistory, KeyWindow } from "../../src/partner/key-history.ts";
import { checkKeyCompromise, checkKeyWindow, readKeyHistory } from "../../src/partner/key-history.ts";
import { folder, issuer, keys, signTexts } from "../fixtures/envelope-tokens.ts";

type Entry = Record<string, unknown> & { kid: string; jwk: Record<string, unknown>; state: string };
type Payload = { iss: unknown; iat: unknown; keys: Entry[] };

const text = readFileSync(join(folder, "keys", "history.jose"), "utf8").trim();
const genuine = Buffer.from(text.split(".")[1] ?? "", "base64url").toString();
const header = JSON.stringify({ alg: "RS256", kid: keys.active.kid, typ: "key-history+jwt" });

/** Changes the genuine key history, signs the result and reads it. */
function readChanged(change: (payload: Payload) => unknown) {
  const payload: Payload = JSON.parse(genuine);
  change(payload);
  return readKeyHistory(signTexts(header, JSON.stringify(payload), "active"), issuer);
}

const entryIn = ({ keys: [first] }: Payload) => first as Entry;
const setting = (members: object) => (payload: Payload) => Object.assign(payload, members);
const ofEntry = (members: object) => (payload: Payload) => Object.assign(entryIn(payload), members);
const noTimes = `The key history gives key ${entryIn(JSON.parse(genuine)).kid} no well-formed state and times.`;
const none = { publishedAt: null, activatedAt: null, retiredAt: null, compromisedSince: null };
const at = "2026-01-01T00:00:00Z";

const times = ["activatedAt", "retiredAt", "compromisedSince"];
test.each<[detail: string, ...changes: ((payload: Payload) => unknown)[]]>([
  [
    "The key history lacks its issuer, its time or its list of keys.",
    ...[{ iss: 7 }, { iat: "7" }, { iat: 0.5 }, { keys: {} }].map(setting),
  ],
  [
    "An entry of the key history has no key.",
    ({ keys: all }) => all.push(7 as unknown as Entry),
    ofEntry({ jwk: undefined }),
  ],
  ["The key history lists a key that is not an RSA key.", ofEntry({ jwk: { kty: "EC" } })],
  ["An entry of the key history and its key have different ids.", ofEntry({ kid: "x" })],
  [
    noTimes,
    ...[{ state: "x" }, { state: "x", compromisedSince: at }].map(ofEntry),
    ...[{ publishedAt: undefined }, { publishedAt: 7 }].map(ofEntry),
    ...times.flatMap((time) => ["x", 7, undefined].map((value) => ofEntry({ [time]: value }))),
    ...["active", "retired", "compromised"].map((state) => ofEntry({ ...none, state })),
  ],
])("a malformed key history is refused: %s", async (detail, ...changes) => {
  const found = await Promise.all(changes.map(readChanged));
  expect(found).toMatchObject(changes.map(() => ({ reason: "KEY_HISTORY_MALFORMED", detail })) as never);
});

test("a key history with a private key, or with one key twice, is refused", async () => {
  const secret = (payload: Payload) => Object.assign(entryIn(payload).jwk, { d: "" });
  expect(await readChanged(secret)).toMatchObject({ reason: "KEY_SET_PRIVATE_KEY" });
  const twice = (payload: Payload) => payload.keys.push(entryIn(payload));
  expect(await readChanged(twice)).toMatchObject({ reason: "KEY_SET_DUPLICATE_KID" });
  const list = await readKeyHistory(signTexts(header, "[]", "active"), issuer);
  expect(list).toMatchObject({
    reason: "KEY_HISTORY_MALFORMED",
    detail: "The payload is no JSON object.",
  } as never);
});

test("a key in the key history must have the time of its current state, and needs no other time", async () => {
  const none = { activatedAt: null, retiredAt: null, compromisedSince: null };
  for (const [state, time] of Object.entries({
    pending: null,
    active: "activatedAt",
    retired: "retiredAt",
    compromised: "compromisedSince",
  })) {
    const own = time === null ? {} : { [time]: at };
    const read = (await readChanged(ofEntry({ publishedAt: null, ...none, ...own, state }))) as KeyHistory;
    const ms = Object.entries({ ...none, ...own }).map(([name, text]) => [
      `${name}Ms`,
      text && Date.parse(text),
    ]);
    const { window } = read.keys.get(entryIn(JSON.parse(genuine)).kid) ?? {};
    expect(window).toMatchObject({ state, ...Object.fromEntries(ms) } as never);
  }
});

test("a key history is read as a JWS or as JSON, and the caller can require its issuer", async () => {
  const served = (await readKeyHistory(text, issuer)) as KeyHistory;
  expect(served.signer.jwk.kid).toBe(keys.active.kid);
  for (const other of [` ${text}\n`, ` ${JSON.stringify({ keyHistory: text })}`])
    expect(await readKeyHistory(other, null)).toEqual(served);
  for (const other of ["", "{", "{}", '{"keyHistory":7}', "[]", `x${text}.`])
    expect(await readKeyHistory(other, null)).toMatchObject({ reason: "KEY_HISTORY_UNREADABLE" });
  const short = `${text.slice(0, text.lastIndexOf("."))}.AAAA`;
  expect(await readKeyHistory(short, issuer)).toMatchObject({ reason: "KEY_HISTORY_SIGNATURE_INVALID" });
  expect(await readKeyHistory(text, "")).toMatchObject({ reason: "KEY_HISTORY_ISSUER_MISMATCH" });
});

const window = (times: Partial<KeyWindow>): KeyWindow => ({
  ...{ state: "retired", activatedAtMs: 10_500, retiredAtMs: 20_500, compromisedSinceMs: null },
  ...times,
});

test("a key may sign from the second of its activation to the second of its retirement", () => {
  const isIn = (times: Partial<KeyWindow>, seconds: number) => "ok" in checkKeyWindow(window(times), seconds);
  expect([9, 10, 20, 21].map((seconds) => isIn({}, seconds))).toEqual([false, true, true, false]);
  expect([isIn({ retiredAtMs: null }, 99), isIn({ activatedAtMs: null }, 15)]).toEqual([true, false]);
  expect(checkKeyWindow(null, 0)).toMatchObject({ ok: null });
});

test("a compromise applies to signatures from its second on, unless the log had the signature before the compromise", () => {
  const foundAt = (seconds: number, logged: number | null, since: number | null = 15_500) => {
    const found = checkKeyCompromise(window({ compromisedSinceMs: since }), seconds, logged);
    return "reason" in found ? found.detail : [found.warnings.length, found.precedesCompromise];
  };
  expect([foundAt(14, null), foundAt(14, 15), foundAt(16, 14), foundAt(16, null, null)]).toEqual([
    [1, false],
    [1, false],
    [0, true],
    [0, false],
  ]);
  expect(foundAt(15, null)).toBe("The signing key was compromised when this was signed.");
  expect(foundAt(15, 15)).toBe("The key was compromised when this was signed, and when the log had it.");
});
