import { expect, test } from "bun:test";
import { encodeBase64 } from "../../src/partner/base64.ts";
import {
  parseDecimalCount,
  readTreeHead,
  signCheckpoint,
  splitLogOrigin,
  verifyCheckpoint,
} from "../../src/partner/log-checkpoint.ts";
import type { NoteSignature, SignedNote, VerifierKey } from "../../src/partner/signed-note.ts";
import { formatNote, formatVerifierKey, readNote, readVerifierKey } from "../../src/partner/signed-note.ts";
import { checkpoints } from "../fixtures/log-world.ts";
import { aCheckpointKey } from "../harness/checkpoint-key.ts";

// Most bad checkpoints are fixtures, which log-fixtures.test.ts verifies.

test("a checkpoint is refused with PROOF_OF_ANOTHER_LOG if no key of its log was given", async () => {
  expect(await verifyCheckpoint(checkpoints.newest.note, [])).toMatchObject({
    reason: "PROOF_OF_ANOTHER_LOG",
  });
});

const origin = "verify.example.org/log";
const root = encodeBase64(new Uint8Array(32).fill(7));

const shape = "The checkpoint's text is not an origin, a size and a root, a line each.";
const noSize = "The checkpoint's size is no decimal number.";
const noRoot = "The checkpoint's root is not a hash in base64.";
test.each([
  ["no origin", shape, `\n5\n${root}\n`],
  ["no root", shape, `${origin}\n5\n`],
  ["no last line feed", shape, `${origin}\n5\n${root}`],
  ["a size of 2^53", noSize, `${origin}\n9007199254740992\n${root}\n`],
  ["a root that is not canonical", noRoot, `${origin}\n5\n${root.replace(/c=$/, "d=")}\n`],
])("a checkpoint with %s is refused as malformed: %s", (_name, detail, text) => {
  expect(readTreeHead(text)).toMatchObject({ reason: "PROOF_MALFORMED", detail } as never);
});

test("verifyCheckpoint returns the signed time of a checkpoint, and needs a key of the checkpoint's origin", async () => {
  const [own, other] = [aCheckpointKey(), aCheckpointKey()];
  const verifierOf = async (name: string, { publicKey }: typeof own) =>
    (await readVerifierKey(await formatVerifierKey(name, publicKey))) as VerifierKey;
  const wrong = [await verifierOf(origin, other), await verifierOf("elsewhere/log", own)];
  const head = { origin, size: 5, root: new Uint8Array(32).fill(7) };
  for (const signed of [head, { ...head, extensions: ["a", "b"] }]) {
    const note = await signCheckpoint(signed, 1_772_366_400, own);
    const opened = await verifyCheckpoint(note, [...wrong, await verifierOf(origin, own)]);
    expect(opened as object).toEqual({ ...signed, seconds: 1_772_366_400 });
    expect(await verifyCheckpoint(note, wrong)).toMatchObject({ reason: "CHECKPOINT_SIGNATURE_INVALID" });
    const { text, signatures } = readNote(note) as SignedNote;
    const [plain, timed] = signatures as [NoteSignature, NoteSignature];
    const short = { ...timed, signature: timed.signature.slice(0, 3) };
    const renamed = [plain, timed].map((line) => ({ ...line, name: "elsewhere/log" }));
    for (const lines of [[plain, short], renamed])
      expect(await verifyCheckpoint(formatNote(text, lines), [await verifierOf(origin, own)])).toMatchObject({
        reason: "CHECKPOINT_SIGNATURE_INVALID",
      });
  }
});

test.each([
  ["a/log", "a/log", 1],
  ["a/log/2", "a/log", 2],
  ["a/log/123456789", "a/log", 123456789],
  ...["a/log/1", "a/log/02", "a/log/1234567890", "a/log/2/", "a/log/x2", "log/2\n"].map(
    (name) => [name, name, 1] as const,
  ),
])("the origin %p is read as the service %p and its log number %p", (name, service, number) => {
  expect(splitLogOrigin(name)).toEqual({ service, number });
});

test("each size in a checkpoint has exactly one valid spelling", () => {
  expect(["0", "1", "10", "9007199254740991"].map(parseDecimalCount)).toEqual([0, 1, 10, 9007199254740991]);
  const others = ["", "00", "01", "-1", "+1", "1.0", "1e3", " 1", "1 ", "٣", "9007199254740992"];
  expect(others.map(parseDecimalCount)).toEqual(others.map(() => null));
});
