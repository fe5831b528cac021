import { describe, expect, test } from "bun:test";
import { decodeBase64, decodeHash, encodeBase64 } from "../../src/partner/base64.ts";
import {
  formatTreeHead,
  openCheckpoint,
  readCount,
  readTreeHead,
  signCheckpoint,
} from "../../src/partner/log-checkpoint.ts";
import { Refusal } from "../../src/partner/reasons.ts";
import { formatVerifierKey, readVerifierKey, type VerifierKey } from "../../src/partner/signed-note.ts";
import { aCheckpointKey } from "../harness/checkpoint-key.ts";

const origin = "verify.example.org/log";
const root = new Uint8Array(32).fill(7);
const seconds = 1_780_000_000;

async function makeLog(name: string) {
  const signer = aCheckpointKey();
  const key = await readVerifierKey(await formatVerifierKey(name, signer.publicKey));
  if (key === null) throw new Error("unread");
  return { signer, key };
}

const log = await makeLog(origin);
const other = await makeLog(origin);
const note = await signCheckpoint({ origin, size: 5, root }, seconds, log.signer);

async function reasonOf(text: string, keys: readonly VerifierKey[] = [log.key]): Promise<string | null> {
  const opened = await openCheckpoint(text, keys);
  return opened instanceof Refusal ? opened.reason : null;
}

describe("a checkpoint", () => {
  test("that the log signed in both ways says its size, root and time", async () => {
    expect(await openCheckpoint(note, [log.key])).toEqual({ origin, size: 5, root, seconds });
    expect(await openCheckpoint(new TextEncoder().encode(note), [other.key, log.key])).toEqual({
      origin,
      size: 5,
      root,
      seconds,
    });
  });

  test("has three lines and two signatures", () => {
    expect(note.split("\n")).toHaveLength(7);
    expect(note.startsWith(formatTreeHead({ origin, size: 5, root }))).toBe(true);
  });

  test("may have signatures of witnesses that nobody here knows", async () => {
    const witness = `— witness.example/w1 ${encodeBase64(new Uint8Array(76))}\n`;
    expect(await reasonOf(`${note}${witness}`)).toBeNull();
  });

  test("of another log, or of an epoch whose key was not given, is told apart", async () => {
    expect(await reasonOf(note, [(await makeLog("other.example/log")).key])).toBe("PROOF_OF_ANOTHER_LOG");
    expect(await reasonOf(note, [])).toBe("PROOF_OF_ANOTHER_LOG");
    expect(await reasonOf(note, [(await makeLog(`${origin}/2`)).key])).toBe("LOG_EPOCH_UNKNOWN");
    const third = await makeLog(`${origin}/3`);
    const later = await signCheckpoint({ origin: `${origin}/3`, size: 1, root }, seconds, third.signer);
    expect(await reasonOf(later)).toBe("LOG_EPOCH_UNKNOWN");
    expect(await reasonOf(later, [log.key, third.key])).toBeNull();
  });

  test("needs both signatures, and both good", async () => {
    const lines = note.split("\n");
    const without = (index: number) => lines.filter((_, at) => at !== index).join("\n");
    const invalid = "CHECKPOINT_SIGNATURE_INVALID";
    expect(await reasonOf(without(4))).toBe(invalid);
    expect(await reasonOf(without(5))).toBe(invalid);
    expect(await reasonOf(note, [other.key])).toBe(invalid);
    expect(await reasonOf(note.replace("\n5\n", "\n6\n"))).toBe(invalid);
    // A later time in front of the signature of an earlier one.
    const later = await signCheckpoint({ origin, size: 5, root }, seconds + 1, log.signer);
    const [plain = "", timed = ""] = [lines[4], later.split("\n")[5]];
    const forge = (line: string, from: string) => {
      const bytes = decodeBase64(line.split(" ")[2] ?? "") ?? new Uint8Array();
      const donor = decodeBase64(from.split(" ")[2] ?? "") ?? new Uint8Array();
      return `— ${origin} ${encodeBase64(Uint8Array.of(...donor.slice(0, 12), ...bytes.slice(12)))}`;
    };
    const [oldTimed = ""] = [lines[5]];
    expect(await reasonOf([...lines.slice(0, 4), plain, forge(oldTimed, timed), ""].join("\n"))).toBe(
      invalid,
    );
  });

  test.each([
    ["two lines", `${origin}\n5\n`],
    ["an empty line", `${origin}\n5\n${encodeBase64(root)}\n\n`],
    ["no origin", `\n5\n${encodeBase64(root)}\n`],
    ["a leading zero", `${origin}\n05\n${encodeBase64(root)}\n`],
    ["a sign", `${origin}\n+5\n${encodeBase64(root)}\n`],
    ["a size that no number holds", `${origin}\n9007199254740992\n${encodeBase64(root)}\n`],
    ["a short root", `${origin}\n5\n${encodeBase64(root.slice(1))}\n`],
    ["a root that is not canonical", `${origin}\n5\n${encodeBase64(root).replace(/c=$/, "d=")}\n`],
    ["no last line feed", `${origin}\n5\n${encodeBase64(root)}`],
  ])("whose text has %s is none", (_name, text) => {
    const head = readTreeHead(text);
    expect(head instanceof Refusal ? head.reason : null).toBe("PROOF_MALFORMED");
  });
});

test("counts have one spelling", () => {
  expect(["0", "1", "10", "9007199254740991"].map(readCount)).toEqual([0, 1, 10, 9007199254740991]);
  const others = ["", "00", "01", "-1", "+1", "1.0", "1e3", " 1", "1 ", "٣", "9007199254740992"];
  expect(others.map(readCount)).toEqual(others.map(() => null));
});

test("base64 has one spelling for each byte string", () => {
  for (let length = 0; length <= 70; length++) {
    const bytes = Uint8Array.from({ length }, (_, index) => (index * 151 + length * 37) % 256);
    const text = Buffer.from(bytes).toString("base64");
    expect(encodeBase64(bytes)).toBe(text);
    expect(decodeBase64(text)).toEqual(bytes);
    if (text.endsWith("=")) expect(decodeBase64(text.replace(/=+$/, ""))).toBeNull();
  }
  const others = ["=", "==", "====", "A===", "AA", "AA=", "AB==", "AAB=", "AA-A", "AA_A", "AA A", "AAA\n"];
  expect(others.map(decodeBase64)).toEqual(others.map(() => null));
  expect(decodeHash(encodeBase64(root))).toEqual(root);
  expect([encodeBase64(new Uint8Array(31)), encodeBase64(new Uint8Array(33)), ""].map(decodeHash)).toEqual([
    null,
    null,
    null,
  ]);
});
