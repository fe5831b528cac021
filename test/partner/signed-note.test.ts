import { describe, expect, test } from "bun:test";
import { Refusal } from "../../src/partner/reasons.ts";
import {
  formatNote,
  formatVerifierKey,
  keyIdOf,
  readNote,
  readVerifierKey,
  verifyEd25519,
} from "../../src/partner/signed-note.ts";

/** The example of the format's own documents: golang.org/x/mod/sumdb/note. */
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

function isRefused(note: string | Uint8Array): boolean {
  const signed = readNote(note);
  return signed instanceof Refusal && signed.reason === "PROOF_MALFORMED";
}

describe("a signed note", () => {
  test("that another implementation signed is good under its key", async () => {
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

  test("is written as it was read", () => {
    const { text, signatures } = read(peterNote);
    expect(formatNote(text, signatures)).toBe(peterNote);
    expect(read(new TextEncoder().encode(peterNote))).toEqual({ text, signatures });
  });

  test("has its signatures after the last empty line", () => {
    expect(read(`one\n\ntwo\n\n${peterLine}`).text).toBe("one\n\ntwo\n");
  });

  test("may have lines of unknown keys, up to a limit", () => {
    const other = (index: number) => peterLine.replace("PeterNeumann", `witness.example/${index}`);
    const lines = (count: number) => Array.from({ length: count }, (_, index) => other(index)).join("");
    expect(read(`text\n\n${lines(16)}`).signatures).toHaveLength(16);
    expect(isRefused(`text\n\n${lines(65)}`)).toBe(true);
  });

  test.each([
    ["no signature", peterText],
    ["nothing after the empty line", `${peterText}\n`],
    ["nothing but signatures", `\n\n${peterLine}`],
    ["no last line feed", peterNote.slice(0, -1)],
    ["a line that is no signature", `${peterNote}surplus\n`],
    ["an empty line at the end", `${peterNote}\n`],
    ["two signatures of one key", `${peterNote}${peterLine}`],
    ["a hyphen for the dash", peterNote.replace("—", "-")],
    ["a plus in the name", peterNote.replace("— Peter", "— Peter+")],
    ["two spaces", peterNote.replace("— Peter", "—  Peter")],
    ["a space that is not ASCII", peterNote.replace("— Peter", "— Pe\u00a0ter")],
    ["base64 that is not canonical", peterNote.replace("nAM=\n", "nAN=\n")],
    ["base64 without padding", peterNote.replace("nAM=\n", "nAM\n")],
    ["a signature that is a key id alone", `text\n\n— name x08gow==\n`],
    ["a carriage return", peterNote.replace("\n", "\r\n")],
    ["half a character", peterNote.replace("cryptography", "\ud83d")],
    ["megabytes", `${"x".repeat(600_000)}\n\n${peterLine}`],
    ["a line that would fill a state file", `${peterNote}— ${'"'.repeat(500_000)} x08gowAA\n`],
  ])("with %s is none", (_name, note) => {
    expect(isRefused(note)).toBe(true);
  });

  test("with bytes that are not UTF-8 is none, nor is one with a byte order mark", () => {
    expect(isRefused(Uint8Array.of(0xff, ...new TextEncoder().encode(peterNote)))).toBe(true);
    const marked = read(Uint8Array.of(0xef, 0xbb, 0xbf, ...new TextEncoder().encode(peterNote)));
    expect(marked.text.startsWith("\ufeff")).toBe(true);
  });
});

describe("a verifier key", () => {
  test("is read and written in one form", async () => {
    const key = await readVerifierKey(peterKey);
    expect(key?.name).toBe("PeterNeumann");
    expect(await formatVerifierKey("PeterNeumann", key?.publicKey ?? new Uint8Array())).toBe(peterKey);
  });

  test("has another id for each type of signature", async () => {
    const publicKey = new Uint8Array(32);
    expect(await keyIdOf("a.example/log", 1, publicKey)).not.toBe(
      await keyIdOf("a.example/log", 4, publicKey),
    );
  });

  test.each([
    ["white space around it", `${peterKey}\n`],
    ["another name", peterKey.replace("Peter", "Petra")],
    ["another id", peterKey.replace("c74f20a3", "c74f20a4")],
    ["an id in upper case", peterKey.replace("c74f20a3", "C74F20A3")],
    ["another key", peterKey.replace("ARpc", "ARpd")],
    ["a key that is cut short", peterKey.slice(0, -4)],
    ["spare bits", `${peterKey.slice(0, -1)}X`],
    ["no name", peterKey.slice("PeterNeumann".length)],
    ["nothing", ""],
    ["a name of a million letters", "a".repeat(1_000_000) + peterKey],
  ])("with %s is none", async (_name, text) => {
    expect(await readVerifierKey(text)).toBeNull();
  });

  test("for another type of signature is none", async () => {
    const publicKey = new Uint8Array(32);
    const id = await keyIdOf("name", 4, publicKey);
    const encoded = Buffer.from([4, ...publicKey]).toString("base64");
    expect(await readVerifierKey(`name+${id}+${encoded}`)).toBeNull();
  });
});
