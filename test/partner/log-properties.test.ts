import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openCheckpoint } from "../../src/partner/log-checkpoint.ts";
import { isConsistent, isSameHash, rootOfInclusion } from "../../src/partner/merkle-proof.ts";
import {
  createKeySet,
  openLogProof,
  Refusal,
  readEnvelopes,
  readLogKeys,
  verifyEnvelope,
} from "../../src/partner/partner.ts";
import { audience, now as fixedNow, folder, issuer } from "../fixtures/envelope-tokens.ts";
import { vkey } from "../fixtures/log-notes.ts";
import { checkpoints, envelopes, honestProof, log } from "../fixtures/log-world.ts";
import { leaf, mth, path, proof as proofBetween } from "../fixtures/rfc6962.ts";
import { numbers } from "../harness/random.ts";

const below = numbers(6962);
const bytesOf = (text: string) => new Uint8Array(Buffer.from(text));
const asHash = (hash: Buffer) => new Uint8Array(hash);

/** Every byte in turn, changed to another one. */
function* changedBytes(bytes: Uint8Array): Generator<{ place: number; changed: Uint8Array }> {
  for (let place = 0; place < bytes.length; place++) {
    const byte = bytes[place] ?? 0;
    // A single bit, which makes letters of letters, and any other byte.
    for (const other of [byte ^ (1 << below(7)), (byte + 1 + below(255)) % 256])
      yield { place, changed: bytes.with(place, other) };
  }
}

/** Every byte in turn left out, and one put in before it. */
function* shiftedBytes(bytes: Uint8Array): Generator<{ place: number; changed: Uint8Array }> {
  for (let place = 0; place < bytes.length; place++) {
    const [before, after] = [bytes.subarray(0, place), bytes.subarray(place)];
    yield { place, changed: Uint8Array.of(...before, ...after.subarray(1)) };
    yield { place, changed: Uint8Array.of(...before, after[below(after.length)] ?? 0x0a, ...after) };
  }
}

const now = new Date(fixedNow);
const keyFile = (name: string) => readFileSync(join(folder, "keys", name));
const keys = await createKeySet({ jwks: keyFile("jwks.json"), keyHistory: keyFile("history.jose"), issuer });
const keyText = `${vkey(log)}\n`;
const read = await readLogKeys(keyText);
if (read instanceof Refusal) throw new Error(read.detail);
const logKeys = read;
const proofText = honestProof("genuine", "before");
const options = { keys, issuer, audience, now, proof: await openLogProof(proofText, { logKeys, now }) };

describe("with one byte changed", () => {
  test("nothing that bears witness was accepted by mistake: unchanged, all of it is good", async () => {
    const { valid, log: evidence } = await verifyEnvelope(envelopes.genuine.jws, options);
    expect([valid, evidence?.precedesCompromise]).toEqual([true, true]);
  });

  test("no proof is valid", async () => {
    const bytes = bytesOf(proofText);
    for (const { place, changed } of [...changedBytes(bytes), ...shiftedBytes(bytes)]) {
      const proof = await openLogProof(changed, { logKeys, now });
      const { valid } = await verifyEnvelope(envelopes.genuine.jws, { ...options, proof });
      // Its last line feed alone may be missing.
      expect([place, valid]).toEqual([
        place,
        changed.length === bytes.length - 1 && place === changed.length,
      ]);
    }
  });

  test("no checkpoint is", async () => {
    const bytes = bytesOf(checkpoints.before.note);
    for (const { place, changed } of [...changedBytes(bytes), ...shiftedBytes(bytes)]) {
      expect([place, (await openCheckpoint(changed, logKeys)) instanceof Refusal]).toEqual([place, true]);
    }
  });

  test("no key of a log is", async () => {
    for (const { place, changed } of changedBytes(bytesOf(keyText))) {
      expect([place, (await readLogKeys(changed)) instanceof Refusal]).toEqual([place, true]);
    }
  });

  test("no signature is, with its proof or without", async () => {
    const { proof, ...bare } = options;
    for (const { place, changed } of changedBytes(bytesOf(envelopes.genuine.jws))) {
      const [item] = readEnvelopes(changed);
      const value = item !== undefined && "value" in item ? item.value : null;
      for (const given of value === null ? [] : [{ ...bare, proof }, bare])
        expect([place, (await verifyEnvelope(value, given)).valid]).toEqual([place, false]);
    }
  });

  test("no envelope is, but for the fraction of a second, which nobody signed", async () => {
    const text = JSON.stringify(JSON.parse(envelopes.genuine.content));
    const fraction = text.indexOf('.000Z"');
    expect(fraction).toBeGreaterThan(0);
    const bytes = bytesOf(text);
    const isUnsigned = (place: number) => place > fraction && place <= fraction + 3;
    for (const { place, changed } of changedBytes(bytes)) {
      const [item] = readEnvelopes(changed);
      if (item === undefined || "refusal" in item) continue;
      const { valid } = await verifyEnvelope(item.value, options);
      expect([place, valid && !isUnsigned(place)]).toEqual([place, false]);
    }
  });
});

/** Distinct leaves, so that no place can be taken for another. */
const leaves = Array.from({ length: 20_000 }, (_, index) => leaf(Buffer.from(`leaf ${index}`)));

async function expectAgreement(from: number, to: number): Promise<void> {
  const tree = leaves.slice(0, to);
  const root = mth(tree);
  const index = from - 1;
  const audit = path(index, tree).map(asHash);
  const one = { leafHash: asHash(leaves[index] as Buffer), index, size: to, hashes: audit };
  const reached = await rootOfInclusion(one);
  expect([from, to, reached !== null && isSameHash(reached, root)]).toEqual([from, to, true]);
  const elsewhere = await rootOfInclusion({ ...one, index: (index + 1 + below(to)) % (to + 1) });
  expect([from, to, elsewhere !== null && isSameHash(elsewhere, root)]).toEqual([from, to, false]);
  const hashes = proofBetween(from, tree).map(asHash);
  const grown = { from, to, fromRoot: asHash(mth(leaves.slice(0, from))), toRoot: asHash(root), hashes };
  expect([from, to, await isConsistent(grown)]).toEqual([from, to, true]);
  if (hashes.length === 0) return;
  const place = below(hashes.length);
  const wrong = hashes.with(place, asHash(leaf(Buffer.from("wrong"))));
  expect([from, to, await isConsistent({ ...grown, hashes: wrong })]).toEqual([from, to, false]);
  const missing = hashes.filter((_, at) => at !== place);
  expect([from, to, await isConsistent({ ...grown, hashes: missing })]).toEqual([from, to, false]);
}

describe("a checker written from RFC 6962 alone agrees", () => {
  test("on every pair of sizes up to 40", async () => {
    for (let to = 1; to <= 40; to++) for (let from = 1; from <= to; from++) await expectAgreement(from, to);
  });

  test("on random pairs of sizes up to 300", async () => {
    for (let to = 41; to <= 300; to++) await expectAgreement(1 + below(to), to);
  });

  test("on large trees", async () => {
    const sizes = [1023, 1024, 1025, 4096, 10_001, 16_383, 16_385, 1 + below(leaves.length)];
    for (const to of sizes) for (const from of [1, 1 + below(to), to]) await expectAgreement(from, to);
  });
});
