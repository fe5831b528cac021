import { expect, test } from "bun:test";
import { Refusal } from "../../src/partner/reasons.ts";
import {
  formatNote,
  formatTimedMessage,
  formatVerifierKey,
  keyIdOf,
  readNote,
  readVerifierKey,
  verifyEd25519,
} from "../../src/partner/signed-note.ts";

/** The example in the documentation of the format's Go package, golang.org/x/mod/sumdb/note. */
const peterKey = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const peterText =
  "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
const peterLine =
  "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";
const peterNote = `${peterText}\n${peterLine}`;

function read(note: string | Uint8Array) {
  const signed = readNote(note);
  if (signed instanceof Refusal) throw new Error(signed.detail);
  return signed;
}

test("a signed note of another implementation verifies", async () => {
  const key = await readVerifierKey(peterKey);
  const { text, signatures } = read(peterNote);
  if (key === null || signatures[0] === undefined) throw new Error("unread");
  expect(text).toBe(peterText);
  expect(signatures[0]).toMatchObject({ name: key.name, keyId: key.keyId });
  const message = new TextEncoder().encode(text);
  expect(await verifyEd25519(key.publicKey, message, signatures[0].signature)).toBe(true);
  expect(await verifyEd25519(key.publicKey, message.slice(1), signatures[0].signature)).toBe(false);
  expect(await verifyEd25519(key.publicKey, message, signatures[0].signature.slice(1))).toBe(false);
});

test("a signed note is written exactly as it was read", () => {
  const { text, signatures } = read(peterNote);
  expect(formatNote(text, signatures)).toBe(peterNote);
  expect(read(new TextEncoder().encode(peterNote))).toEqual({ text, signatures });
});

test("the signatures of a signed note follow its last empty line", () => {
  expect(read(`one\n\ntwo\n\n${peterLine}`).text).toBe("one\n\ntwo\n");
  expect(read(`a\n\n${peterLine}`).text).toBe("a\n");
});

test("a signed note may have up to 64 signatures and 64 Ki characters", () => {
  const other = (index: number) => peterLine.replace("PeterNeumann", `witness.example/${index}`);
  const lines = (count: number) => Array.from({ length: count }, (_, index) => other(index)).join("");
  expect(read(`text\n\n${lines(16)}`).signatures).toHaveLength(16);
  const { text, signatures } = read(`text\n\n${lines(3)}`);
  expect(formatNote(text, signatures)).toBe(`text\n\n${lines(3)}`);
  expect(read(`text\n\n${lines(64)}`).signatures).toHaveLength(64);
  expect(readNote(`text\n\n${lines(65)}`)).toMatchObject({
    detail: "The checkpoint has over 64 signatures.",
  } as never);
  expect(read(peterNote.padStart(64 * 1024, "x")).signatures).toHaveLength(1);
});

const [noSignatures, noLine] = ["has no signatures", "A line after the checkpoint's text is no signature."];
// biome-ignore format: a table reads better in rows
test.each([
  ["no signature", "The checkpoint has no signatures.", peterText],
  ["nothing after the empty line", `${noSignatures}, or a surplus blank line at its end.`,
    `${peterText}\n`],
  ["nothing but signatures", "The checkpoint has no signatures.", `\n\n${peterLine}`],
  ["no last line feed", "The checkpoint ends in the midst of its signatures.", peterNote.slice(0, -1)],
  ["a line that is not a signature", noLine, `${peterNote}surplus\n`],
  ["an empty line at the end", `${noSignatures}, or a surplus blank line at its end.`, `${peterNote}\n`],
  ["two signatures of one key", "Two signatures are of the same key.", `${peterNote}${peterLine}`],
  ["a hyphen in place of the dash", noLine, peterNote.replace("—", "-")],
  ["something behind the signature", noLine, peterNote.replace(/\n$/, " x\n")],
  ["something before the dash", noLine, peterNote.replace("—", "x—")],
  ["a plus in the name", noLine, peterNote.replace("— Peter", "— Peter+")],
  ["two spaces", noLine, peterNote.replace("— Peter", "—  Peter")],
  ["a space that is not ASCII", noLine, peterNote.replace("— Peter", "— Pe\u00a0ter")],
  ["base64 that is not canonical", noLine, peterNote.replace("nAM=\n", "nAN=\n")],
  ["base64 without padding", noLine, peterNote.replace("nAM=\n", "nAM\n")],
  ["a signature that is only a key id", noLine, "text\n\n— name x08gow==\n"],
  ["a carriage return", "The checkpoint holds control characters.", peterNote.replace("\n", "\r\n")],
  ["a truncated UTF-8 character", "The checkpoint holds control characters.",
    peterNote.replace("cryptography", "\ud83d")],
  ["megabytes", "The checkpoint is longer than any log writes.", `${"x".repeat(600_000)}\n\n${peterLine}`],
  ["a line that would fill a state file", "longer than any log",
    `${peterNote}— ${'"'.repeat(500_000)} x08gowAA\n`],
])("a signed note with %s is refused: %s", (_name, detail, note) => {
  const signed = readNote(note);
  expect(signed instanceof Refusal && signed.reason).toBe("PROOF_MALFORMED");
  expect((signed as Refusal).detail).toContain(detail);
});

test("a signed note must be UTF-8, and a byte order mark is part of its text", () => {
  const bad = readNote(Uint8Array.of(0xff, ...new TextEncoder().encode(peterNote)));
  expect(bad).toMatchObject({ detail: "The checkpoint is not valid UTF-8." } as never);
  const marked = read(Uint8Array.of(0xef, 0xbb, 0xbf, ...new TextEncoder().encode(peterNote)));
  expect(marked.text.startsWith("\ufeff")).toBe(true);
});

test("a timestamped signature of a note covers the time and the text", () => {
  expect(new TextDecoder().decode(formatTimedMessage("text\n", 7))).toBe("cosignature/v1\ntime 7\ntext\n");
});

test("a log's verifier key is written exactly as it was read", async () => {
  const key = await readVerifierKey(peterKey);
  expect(key?.name).toBe("PeterNeumann");
  expect(await formatVerifierKey("PeterNeumann", key?.publicKey ?? new Uint8Array())).toBe(peterKey);
});

test("the id of a log's verifier key depends on the type of signature", async () => {
  const publicKey = new Uint8Array(32);
  expect(await keyIdOf("a.example/log", 1, publicKey)).not.toBe(await keyIdOf("a.example/log", 4, publicKey));
});

test.each([
  ["white space around it", `${peterKey}\n`],
  ["another name", peterKey.replace("Peter", "Petra")],
  ["another id", peterKey.replace("c74f20a3", "c74f20a4")],
  ["an id in upper case", peterKey.replace("c74f20a3", "C74F20A3")],
  ["another key", peterKey.replace("ARpc", "ARpd")],
  ["a truncated key", peterKey.slice(0, -4)],
  ["a character that is not base64", `${peterKey}!`],
  ["something before its name", `x+${peterKey}`],
  ["non-zero spare bits in base64", `${peterKey.slice(0, -1)}X`],
  ["no name", peterKey.slice("PeterNeumann".length)],
  ["nothing", ""],
  ["a name of a million letters", "a".repeat(1_000_000) + peterKey],
])("a log's verifier key with %s is refused", async (_name, text) => {
  expect(await readVerifierKey(text)).toBeNull();
});

test("a log's verifier key with a wrong name, length or type is refused, even if the id matches them", async () => {
  const key = new Uint8Array(32);
  for (const name of ["a b", "a\ud83d"])
    expect(await readVerifierKey(await formatVerifierKey(name, key))).toBeNull();
  expect(await readVerifierKey(await formatVerifierKey("name", new Uint8Array(33)))).toBeNull();
  const ofType4 = Buffer.from([4, ...key]).toString("base64");
  for (const type of [1, 4])
    expect(await readVerifierKey(`name+${await keyIdOf("name", type, key)}+${ofType4}`)).toBeNull();
});
