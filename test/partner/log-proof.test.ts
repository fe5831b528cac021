import { expect, test } from "bun:test";
import { encodeBase64 } from "../../src/partner/base64.ts";
import { formatEntries, formatLogProof, openLogProof, readLogKeys } from "../../src/partner/log-proof.ts";
import type { VerifierKey } from "../../src/partner/signed-note.ts";
import { vkey } from "../fixtures/log-notes.ts";
import { checkpoints, honestProof, leaves, log } from "../fixtures/log-world.ts";
import { path } from "../fixtures/rfc6962.ts";

const logKeys = (await readLogKeys(vkey(log))) as readonly VerifierKey[];
const now = new Date("2026-03-01T12:00:00Z");
const proof = honestProof("genuine", "before");
const { note } = checkpoints.before;
const [first = "", index = "", ...rest] = proof.split("\n");
const hash = encodeBase64(new Uint8Array(32));
const openedWith = (text: string | Uint8Array) => openLogProof(text, { logKeys, now });

test("a log proof is written exactly as it was read", async () => {
  const hashes = path(2, leaves.slice(0, 7));
  expect(formatLogProof({ index: 2, hashes, note })).toBe(proof);
  expect(await openedWith(proof)).toMatchObject({
    refusal: null,
    index: 2,
    hashes: hashes.map((one) => new Uint8Array(one)),
    note,
  } as never);
  expect(await openedWith(Buffer.from(proof))).toMatchObject({ refusal: null } as never);
  expect([1, 2].map(formatEntries)).toEqual(["1 entry", "2 entries"]);
});

test("openLogProof accepts a log proof with extra data, and a log proof with 53 hashes, the most that a tree needs", async () => {
  for (const lines of [
    ["extra AA==", index, ...rest],
    [index, ...Array(53).fill(hash), "", note],
  ])
    expect(await openedWith([first, ...lines].join("\n"))).toMatchObject({ refusal: null } as never);
});

// Most malformed proofs are fixtures, which log-fixtures.test.ts verifies.
const noBase64 = "The proof's extra data is not base64.";
test.each([
  [`${first}\n${index}\n`, "The proof ends before its checkpoint."],
  [[first, "Index 2", ...rest].join("\n"), "The proof does not say which entry of the log it is of."],
  [[first, "extra ", index, ...rest].join("\n"), noBase64],
  [[first, "extra AA", index, ...rest].join("\n"), noBase64],
  [
    [first, index, ...Array(54).fill(hash), "", note].join("\n"),
    "The proof has more hashes than any tree is high.",
  ],
])("openLogProof refuses the malformed log proof %j", async (text, detail) => {
  expect(await openedWith(text)).toMatchObject({ refusal: { reason: "PROOF_MALFORMED", detail } } as never);
});

test("openLogProof throws for a wrong time or tolerance", async () => {
  const never = openLogProof(proof, { logKeys, now: new Date("never") });
  await expect(never).rejects.toThrow(new TypeError("now is not a valid date"));
  const negative = openLogProof(proof, { logKeys, now, clockToleranceSeconds: -1 });
  await expect(negative).rejects.toThrow(new TypeError("clockToleranceSeconds is not a duration"));
  expect(await openLogProof(proof, { logKeys })).toMatchObject({ refusal: null } as never);
});

test("openLogProof refuses with VERIFIER_FAILED if an unexpected error occurs", async () => {
  const broken = null as unknown as readonly VerifierKey[];
  expect(await openLogProof(proof, { logKeys: broken, now })).toMatchObject({
    refusal: { reason: "VERIFIER_FAILED" },
  } as never);
});
