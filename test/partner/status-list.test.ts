import { expect, spyOn, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { createDeflate, deflateSync } from "node:zlib";
import { createKeySet } from "../../src/partner/key-set.ts";
import { Refusal, type RefusalReason } from "../../src/partner/reasons.ts";
import {
  readOfflinePack,
  readStatusEntries,
  statusAt,
  verifyStatusLists,
} from "../../src/partner/status-list.ts";
import { type VerifyOptions, verifyEnvelope } from "../../src/partner/verify-envelope.ts";
import {
  audience,
  envelope,
  folder,
  issuer,
  keys,
  now,
  seconds,
  signTexts,
} from "../fixtures/envelope-tokens.ts";
import { dueReason, envelopes, kinds, offlinePack, pack, statusList, uri } from "../fixtures/status-lists.ts";
import { sharedFolder } from "../harness/folder.ts";

const keyHistory = readFileSync(join(folder, "keys", "history.jose"), "utf8");
const jwks = readFileSync(join(folder, "keys", "jwks.json"), "utf8");
const trusted = await createKeySet({ jwks, keyHistory, issuer });
const options = { keys: trusted, issuer, audience, now: new Date(now) };
const sentences: Record<string, string> = JSON.parse(
  readFileSync(join(folder, "../status-list-sentences.json"), "utf8"),
);
const yes = JSON.stringify(envelope({ status: { status_list: { idx: 3, uri } } }));

type Given = Partial<VerifyOptions>;
async function reasonOf(input: string, given: Given = {}): Promise<RefusalReason | null> {
  return (await verifyEnvelope(input, { ...options, ...given })).reason;
}

const all = Object.entries(envelopes);

test.each(Object.entries(kinds))(
  "each envelope gets the right verdict from status lists of the kind: %s",
  async (name, kind) => {
    const { checks } = await verifyEnvelope(yes, { ...options, statusLists: kind.lists });
    expect(checks.at(-1)?.detail).toBe(sentences[name] ?? "");
    const found = await Promise.all(
      all.map(async ([name, { input }]) => [name, await reasonOf(input, { statusLists: kind.lists })]),
    );
    expect(found).toEqual(all.map(([name, one]) => [name, dueReason(one, kind)]));
  },
);

test("verification without a status list decides by the envelope alone, and says that no list was consulted", async () => {
  expect(all).toHaveLength(21);
  for (const [name, one] of all) {
    const { reason, checks, statusList: found } = await verifyEnvelope(one.input, options);
    expect([name, reason, found]).toEqual([name, dueReason(one, null), null]);
    if (reason === null)
      expect(checks.at(-1)).toEqual({
        name: "status",
        ok: null,
        detail: "No status list was asked whether this was withdrawn since.",
      });
  }
});

test("verification.statusList has the status list's URL and time, and the envelope's index and status", async () => {
  const place = { uri, idx: 3, signedAt: "2026-03-01T11:00:00Z" };
  const good = await verifyEnvelope(yes, { ...options, statusLists: [statusList(pack())] });
  expect(good.statusList).toEqual({ ...place, withdrawn: false });
  const bad = await verifyEnvelope(yes, { ...options, statusLists: [statusList(pack(3))] });
  expect(bad).toMatchObject({ verdict: "refused", statusList: { ...place, withdrawn: true }, age: null });
  expect(bad.result?.eligible).toBe(true);
  // The licence may have been withdrawn before the answer was signed. So the detail does not say "since".
  expect(bad.checks.at(-1)?.detail).toBe(`It is withdrawn, by the status list of ${place.signedAt}.`);
});

test("a status list is accepted up to the age that the caller sets, and never after its expiry", async () => {
  const statusLists = [statusList(pack())];
  expect(await reasonOf(yes, { statusLists, maxListAgeSeconds: 3600 })).toBeNull();
  expect(await reasonOf(yes, { statusLists, maxListAgeSeconds: 3599 })).toBe("STATUS_LIST_STALE");
  const old = [statusList(pack(), { iat: seconds(now) - 8 * 86_400 })];
  expect(await reasonOf(yes, { statusLists: old, maxListAgeSeconds: 1e9 })).toBe("STATUS_LIST_STALE");
});

test("a status list is verified again after the cryptography library has failed", async () => {
  for (const step of ["importKey", "verify"] as const) {
    const fresh = await createKeySet({ jwks, issuer });
    const statusLists = [statusList(pack())];
    const failing = spyOn(crypto.subtle, step).mockRejectedValue(new DOMException("not now"));
    try {
      await expect(verifyStatusLists(statusLists, fresh)).rejects.toThrow(DOMException);
    } finally {
      failing.mockRestore();
    }
    expect(await reasonOf(yes, { keys: fresh, statusLists })).toBeNull();
  }
});

test("a status list is verified once for each key set, and at most 64 verified lists are cached", async () => {
  const fresh = await createKeySet({ jwks, issuer });
  const open = (texts: readonly string[]) => verifyStatusLists(texts, fresh);
  const texts = Array.from({ length: 64 }, (_, n) => `no token ${n}`);
  const first = await open(texts);
  const second = await open(texts);
  for (const [n, list] of first.entries()) expect(second[n]).toBe(list);
  await open(["one more"]);
  const [again] = await open(texts.slice(0, 1));
  expect(again).toEqual(first[0]);
  expect(again).not.toBe(first[0]);
});

const place = (idx: number, at = uri) => ({ status: { status_list: { idx, uri: at } } });
const elsewhere = "https://other.example/v1/inter-agency/status/0";
const times = "The status list lacks its address or the time of its signing, or has other times.";
const otherTimes = [{ ttl: 0 }, { ttl: "900" }, { exp: "x" }, { exp: 0.5 }, { exp: 1e15 }];
const header = JSON.stringify({ alg: "RS256", kid: keys.active.kid, typ: "statuslist+jwt" });
test.each<[detail: string, change: Parameters<typeof envelope>[0], ...lists: string[]]>([
  [times, place(3), ...[...otherTimes, { sub: 7 }, { iat: "x" }].map((claims) => statusList(pack(), claims))],
  ["The status list does not have the envelope's place.", place(64), statusList(pack())],
  [
    "The envelope's status list is not one of its issuer's.",
    place(3, elsewhere),
    statusList(pack(), { sub: elsewhere }),
  ],
  [
    "The status list is no signed token.",
    place(3),
    statusList(pack(), {}, { alg: "none" }),
    `${statusList(pack())}${" ".repeat(2 ** 21)}`,
    signTexts(header, "[]", "active"),
  ],
])("a status list is unusable: %s", async (detail, change, ...lists) => {
  for (const list of lists) {
    const given = { ...options, statusLists: [list] };
    const { reason, checks } = await verifyEnvelope(JSON.stringify(envelope(change)), given);
    expect([reason, checks.at(-1)?.detail]).toEqual(["STATUS_LIST_UNUSABLE", detail]);
  }
});

test("a status list is accepted with surrounding white space, without a ttl, and for an issuer with final slashes", async () => {
  for (const list of [
    ` ${statusList(pack())}\n`,
    statusList(pack(), { ttl: undefined }),
    statusList(pack(), { ttl: 0.5 }),
  ])
    expect(await reasonOf(yes, { statusLists: [list] })).toBeNull();
  const ended = `${issuer}//`;
  const input = JSON.stringify(envelope({ ...place(3), iss: ended }));
  const unanchored = await createKeySet({ jwks });
  const given = { issuer: ended, keys: unanchored, statusLists: [statusList(pack())] };
  expect(await reasonOf(input, given)).toBeNull();
});

test("a status list is accepted up to its exact limits of time and size, and refused beyond them", async () => {
  const signedAt = (iat: number, ...withdrawn: number[]) => [statusList(pack(...withdrawn), { iat })];
  const soon = (by: number) => reasonOf(yes, { statusLists: signedAt(seconds(now) + by) });
  expect([await soon(60), await soon(61)]).toEqual([null, "STATUS_LIST_UNUSABLE"]);
  const iat = seconds(now) - 9000;
  const input = JSON.stringify(envelope({ ...place(3), iat }));
  const before = (by: number) => reasonOf(input, { statusLists: signedAt(iat - by, 3) });
  expect([await before(60), await before(61)]).toEqual(["WITHDRAWN_SINCE", "STATUS_LIST_STALE"]);
  expect(await reasonOf(yes, { statusLists: [statusList(pack()).padEnd(2 ** 21)] })).toBeNull();
  const ofBytes = async (count: number) => {
    const lst = deflateSync(new Uint8Array(count)).toString("base64url");
    return (await readStatusEntries({ bits: 1, lst })) instanceof Refusal;
  };
  expect([await ofBytes(2 ** 17), await ofBytes(2 ** 17 + 1)]).toEqual([false, true]);
  expect(await readStatusEntries({ bits: 1, lst: 7 })).toBeInstanceOf(Refusal);
});

/** Appendix "Test vectors for Status List encoding" of the draft, and the examples of its section 4.1. */
const few = [0, 3, 4, 5, 7, 8, 9, 13, 15];
const many = [0, 1993, 25460, 159495, 495669, 554353, 645645, 723232, 854545, 934534, 1000345];
const zeros = (count: number) => "A".repeat(count);
const large = `eNrt3AENwCAMAEGogklACtKQPg9LugC9k_ACvreiogEAAKkeCQ${zeros(19)}IBylgQ${zeros(53)}XG9I${zeros(9)}PwsJ${zeros(15)}vhsS${zeros(12)}7KpL${zeros(21)}JsLCQ${zeros(11)}Djel${zeros(11)}KjDMAQAAAACAZC8L2AEb`;
const largeOfTwo = `eNrt2zENACEQAEEuoaBABP5VIO01fCjIHTMStt9ovGVIAAAAAABAbiEB${zeros(41)}EB5WwI${zeros(106)}ID0ugQ${zeros(17)}QG12Sg${zeros(27)}OCSIQE${zeros(23)}D8ExI${zeros(41)}wJEuAQ${zeros(23)}MB9SwI${zeros(19)}CoYUo${zeros(14)}EBqH81gAQw`;
const vectors: [bits: number, size: number, places: number[], values: string, lst: string][] = [
  [1, 2, few, "111111111", "eNrbuRgAAhcBXQ"],
  [2, 3, [0, 1, 3, 5, 7, 8, 9, 10, 11], "123111233", "eNo76fITAAPfAgc"],
  [1, 2 ** 17, many, "11111111111", large],
  [2, 2 ** 18, many, "12131121123", largeOfTwo],
];

test.each(vectors)(
  "readStatusEntries reads the draft's test vector with %i bits per entry and %i bytes",
  async (bits, size, places, values, lst) => {
    const list = await readStatusEntries({ bits, lst });
    if (list instanceof Refusal) throw new Error(list.detail);
    expect(list.bytes.length).toBe(size);
    const count = (size * 8) / bits;
    const all = Array.from({ length: count }, (_, idx) => statusAt(list, idx));
    expect(all.flatMap((value, idx) => (value === 0 ? [] : [[idx, value]]))).toEqual(
      places.map((idx, at) => [idx, Number(values[at])]),
    );
    expect(statusAt(list, count)).toBeNull();
  },
);

const shared = sharedFolder();

test("a status list that decompresses to a thousand times the limit is refused before it fills the memory", async () => {
  const packed = createDeflate({ level: 9 });
  const written = new Response(packed as unknown as ReadableStream).bytes();
  for (let mebibytes = 0; mebibytes < 256; mebibytes++) packed.write(new Uint8Array(2 ** 20));
  packed.end();
  const lst = Buffer.from(await written).toString("base64url");
  await Bun.write(join(shared, "bomb.txt"), lst);
  const source = join(import.meta.dirname, "../../src/partner/status-list.ts");
  const script = `
    import { readStatusEntries } from ${JSON.stringify(source)};
    const lst = await Bun.file(${JSON.stringify(join(shared, "bomb.txt"))}).text();
    const before = process.resourceUsage().maxRSS;
    const { reason } = await readStatusEntries({ bits: 1, lst });
    console.log(reason, (process.resourceUsage().maxRSS - before) / 1024 < 64);`;
  await Bun.write(join(shared, "bomb.ts"), script);
  const child = Bun.spawn([process.execPath, join(shared, "bomb.ts")], { stdout: "pipe" });
  expect(await new Response(child.stdout).text()).toBe("STATUS_LIST_UNUSABLE true\n");
  expect(await reasonOf(yes, { statusLists: [statusList(lst)] })).toBe("STATUS_LIST_UNUSABLE");
});

const lists = [statusList(pack())];

test("readOfflinePack reads an offline pack as the service sends it", () => {
  expect(readOfflinePack(offlinePack(keyHistory, lists))).toMatchObject({
    issuer,
    keyHistory,
    statusLists: lists,
  });
});

test.each([
  ["malformed JSON", "pack"],
  ["another JSON value than an object", "[]"],
  ["a duplicate member", `{"issuer":"x",${offlinePack(keyHistory, lists).slice(1)}`],
  ["no issuer", offlinePack(keyHistory, lists, { issuer: 1 })],
  ["no time", offlinePack(keyHistory, lists, { madeAt: null })],
  ["no key history", offlinePack(keyHistory, lists, { keyHistory: undefined })],
  ["no key set", offlinePack(keyHistory, lists, { jwks: [] })],
  ["null", "null"],
  ["a status list that is not a text", offlinePack(keyHistory, lists, { statusLists: [...lists, 7] })],
  ["status lists that are not texts", offlinePack(keyHistory, lists, { statusLists: [{}] })],
  ["no array of status lists", offlinePack(keyHistory, lists, { statusLists: undefined })],
])("an offline pack with %s is refused", (_, text) => {
  expect(readOfflinePack(text)).toBeNull();
});
