/** Tests the inputs that partners really have: files in other encodings, and texts that mail or an editor has changed. */

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  convertPiecesToUtf8,
  decodeTextFile,
  findDamagedUtf16,
  findDamageInBytes,
  findMisreadUtf16,
  findTextDamage,
  isUtf16,
} from "../../src/partner/file-text.ts";
import { readEnvelopes } from "../../src/partner/input.ts";
import { createKeySet } from "../../src/partner/key-set.ts";
import { openLogProof, readLogKeys } from "../../src/partner/log-proof.ts";
import { refusalReasons } from "../../src/partner/reasons.ts";
import type { VerifierKey } from "../../src/partner/signed-note.ts";
import { readOfflinePack } from "../../src/partner/status-list.ts";
import { verificationOfRefusal } from "../../src/partner/verification.ts";
import { verifyEnvelope } from "../../src/partner/verify-envelope.ts";
import { damagedTexts, utf16 } from "../fixtures/damaged-texts.ts";
import { audience, envelope, now as fixedNow, folder, issuer } from "../fixtures/envelope-tokens.ts";
import { vkey } from "../fixtures/log-notes.ts";
import { honestProof, log } from "../fixtures/log-world.ts";
import { offlinePack } from "../fixtures/status-lists.ts";

const now = new Date(fixedNow);
const keyText = (name: string) => readFileSync(join(folder, "keys", name), "utf8");
const jwks = keyText("jwks.json");
const keyHistory = keyText("history.jose");
const keys = await createKeySet({ jwks, keyHistory, issuer });
const options = { keys, issuer, audience, now };
const json = JSON.stringify(envelope());

async function verifyAll(input: string | Uint8Array) {
  const items = [...readEnvelopes(input)];
  return Promise.all(
    items.map((item) =>
      "refusal" in item ? verificationOfRefusal(item.refusal) : verifyEnvelope(item.value, options),
    ),
  );
}

for (const [name, { bytes, verdict }] of Object.entries(damagedTexts(json))) {
  test(`a genuine envelope ${name} is read from a file as one item with the verdict ${verdict}`, async () => {
    const found = await verifyAll(bytes);
    const reason = verdict === "valid" ? null : "TEXT_DAMAGED";
    expect(found.map((one) => [one.verdict, one.reason])).toEqual([[verdict, reason]]);
  });
  test(`a genuine envelope ${name} is never refused when it is given as text`, async () => {
    const text = Buffer.from(bytes).toString("utf8");
    const found = [...(await verifyAll(text)), await verifyEnvelope(text, options)];
    expect(found.filter((one) => one.verdict === "refused")).toEqual([]);
  });
}

test("no change by a mail program or an editor makes a forged envelope genuine", async () => {
  const forged = JSON.stringify({ ...JSON.parse(json), audience: "somebody-else" });
  for (const [name, { bytes }] of Object.entries(damagedTexts(forged)))
    for (const { valid } of await verifyAll(bytes))
      expect([name, valid]).toEqual([name, name.startsWith("a signature in UTF-16")]);
});

test("a signature that mail has folded gives one refusal, and the whole signatures around it are still read", async () => {
  const { signature } = JSON.parse(json);
  const folded = signature.match(/.{1,76}/g).join("\n");
  const found = await verifyAll(`${json}\n${folded}\n${signature}\n`);
  expect(found.map(({ reason }) => reason)).toEqual([null, "TEXT_DAMAGED", null]);
});

test.each(["le", "be"] as const)(
  "a key set, a key history and an offline pack are read in UTF-16%s",
  async (order) => {
    const set = await createKeySet({
      jwks: utf16(`\uFEFF${jwks}`, order),
      keyHistory: utf16(`\uFEFF${keyHistory}`, order),
      issuer,
    });
    expect(set.refusal).toBeNull();
    expect((await createKeySet({ jwks: utf16(jwks, order) })).refusal).toBeNull();
    const pack = offlinePack(keyHistory, []);
    expect(readOfflinePack(utf16(`\uFEFF${pack}`, order))).toEqual(readOfflinePack(pack));
    expect(readOfflinePack(`\uFEFF${pack}`)).toEqual(readOfflinePack(pack));
  },
);

const logKeys = (await readLogKeys(vkey(log))) as readonly VerifierKey[];
const proof = honestProof("genuine", "before");
const reasonOf = async (text: string | Uint8Array) =>
  (await openLogProof(text, { logKeys, now })).refusal?.reason ?? null;

test("a log proof is also read if its last line break is missing, or if it is in UTF-16", async () => {
  expect(await reasonOf(proof.trimEnd())).toBeNull();
  expect(await reasonOf(utf16(`\uFEFF${proof}`, "le"))).toBeNull();
  expect(await reasonOf(utf16(proof, "be"))).toBeNull();
  expect(await readLogKeys(utf16(`\uFEFF${vkey(log)}`, "le"))).toEqual(logKeys);
});

test.each<[name: string, change: (text: string) => string]>([
  ["with a byte order mark", (text) => `\uFEFF${text}`],
  ["with carriage returns", (text) => text.replaceAll("\n", "\r\n")],
  ["with an extra line break at its end", (text) => `${text}\n`],
  ["after a blank line", (text) => `\n${text}`],
  ["with spaces at the ends of lines", (text) => text.replaceAll("\n", " \n")],
  ["with carriage returns as line breaks", (text) => text.replaceAll("\n", "\r")],
  ["with spaces at the ends of all lines but the first", (text) => text.replace(/(?<!v1)\n/g, " \n")],
  ["quoted by mail", (text) => text.replace(/^/gm, "> ")],
  ["quoted twice", (text) => text.replace(/^/gm, ">> ")],
  ["quoted without a space", (text) => text.replace(/^/gm, ">")],
  ["indented by two spaces and quoted", (text) => text.replace(/^/gm, "  > ")],
  ["with two spaces after a dash", (text) => text.replaceAll("— ", "—  ")],
  ["folded with an indentation", (text) => text.replace(/^(— \S+) /gm, "$1\n  ")],
  ["with as many blank lines as are searched", (text) => text.padStart(64 * 1024, "\n")],
  ["folded by mail", (text) => text.replace(/^(.{76})(.)/gm, "$1\n$2")],
  ["folded by mail at a space", (text) => text.replace(/^(— \S+) /gm, "$1\n")],
  [
    "in quoted-printable",
    (text) =>
      text
        .replaceAll("=", "=3D")
        .replaceAll("—", "=E2=80=94")
        .replace(/^(.{75})(.)/gm, "$1=\r\n$2"),
  ],
])("a log proof %s is undecidable, and the detail names the damage", async (_name, change) => {
  const { refusal } = await openLogProof(change(proof), { logKeys, now });
  expect(refusal?.reason).toBe("PROOF_UNREADABLE");
  expect(refusal?.detail).not.toBe(refusalReasons.PROOF_UNREADABLE.explanation);
});

test("a text of more than 64 Ki characters is not searched for a damaged log proof", async () => {
  const { refusal } = await openLogProof(proof.padStart(64 * 1024 + 1, "\n"), { logKeys, now });
  expect(refusal?.detail).toBe(refusalReasons.PROOF_UNREADABLE.explanation);
});

const { signature }: { signature: string } = JSON.parse(json);
const dashed = signature.replaceAll("_", "-");
test.each<[damage: string, text: string]>([
  ["Quote marks (>) stand before its lines; mail has quoted it.", `>${json}`],
  ["It is in quoted-printable, as mail carries a text.", json.replace(/.{76}/g, "$&=\n")],
  ["It is in quoted-printable, as mail carries a text.", json.replace("eyJ", "=3DeyJ")],
  ["It is in quoted-printable, as mail carries a text.", json.replace(/.{76}/g, "$&= \n")],
  ["Quote marks (>) stand before its lines; mail has quoted it.", `>${signature.replace(/.{76}/g, "$&\n>")}`],
  ["An editor has put dashes for hyphens.", dashed.replaceAll("-", "\u2010")],
  ["There is white space inside the signature; mail has folded it.", signature.replace(/.{76}/g, "$& \n")],
  [
    "There is white space inside the signature; mail has folded it.",
    `${signature.slice(0, -120)}  ${signature.slice(-120)}`,
  ],
  ["An editor has put curly quotation marks for straight ones.", json.replaceAll('"', "\u201D")],
  ["It is in HTML, as a web page or a mail carries a text.", json.replaceAll('"', "&#0034;")],
  ["An editor has put other spaces for plain ones.", json.replaceAll(",", ",\u00A0")],
  ["Its end is missing, or another text follows it.", ` ${json.slice(0, -1)}`],
  ["A line ends inside a text; mail has folded it.", json.replace("exam-", "exam\n-")],
  ["White space or another text stands around the signature.", `Signature: ${signature}`],
])("the refusal of a damaged text names the damage: %s", (damage, text) => {
  expect(findTextDamage(text)?.detail).toBe(`${damage} Get the file itself.`);
});

test("findTextDamage returns null for a whole signature, a short signature, and a text of more than a mebibyte", () => {
  const [head = "", payload = "", tail = ""] = signature.split(".");
  for (const text of [
    signature,
    json,
    `> ${head}.${payload}.${tail.slice(0, 99)}`,
    `> ${head}.x${payload}.${tail}`,
  ])
    expect(findTextDamage(text)).toBeNull();
  expect(findTextDamage(`> ${json}${" ".repeat(1024 * 1024)}`)).toBeNull();
  const found = [tail.slice(0, 100), "\u2010".repeat(100), "\u2013".repeat(50)];
  for (const end of found) expect(findTextDamage(`> ${head}.${payload}.${end}`)).not.toBeNull();
  expect(findTextDamage(`> abc.${payload}.${tail}`)).toBeNull();
});

test("a text or file is searched for damage only if its size is at most a mebibyte", () => {
  const mebibyte = 1024 * 1024;
  const isFound = (length: number) => {
    const text = `> ${signature}`.padEnd(length);
    return [findTextDamage(text), findDamageInBytes(Buffer.from(text))].map((found) => found !== null);
  };
  expect([isFound(mebibyte), isFound(mebibyte + 1)]).toEqual([
    [true, true],
    [false, false],
  ]);
});

test.each<[isIt: boolean, ...beginnings: number[][]]>([
  [true, [0xff, 0xfe, 1, 1], [0xfe, 0xff, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]],
  [false, [0xff, 1, 1, 1], [1, 0xfe, 1, 1], [0xfe, 1, 1, 1], [1, 0xff, 1, 1]],
  [false, [0, 0, 1, 0], [1, 1, 1, 0], [1, 0, 0, 0], [1, 0, 1, 1]],
  [false, [1, 1, 0, 1], [0, 0, 0, 1], [0, 1, 1, 1], [0, 1, 0, 0]],
])("isUtf16 returns %p for a file that begins with %j, %j, %j or %j", (isIt, ...beginnings) => {
  expect(beginnings.map((bytes) => isUtf16(Uint8Array.from(bytes)))).toEqual(beginnings.map(() => isIt));
});

test("UTF-16 is decoded piece by piece, and damaged or misread UTF-16 is refused", async () => {
  const text = "{é€}";
  const inPieces = async (bytes: Uint8Array) => {
    async function* pieces() {
      for (let at = 0; at < bytes.length; at += at === 0 ? 4 : 1)
        yield bytes.subarray(at, at === 0 ? 4 : at + 1);
    }
    const read: Uint8Array[] = [];
    for await (const piece of convertPiecesToUtf8(pieces())) read.push(piece.slice());
    return Buffer.concat(read).toString("utf8");
  };
  expect(await inPieces(utf16(`\uFEFF${text}`, "le"))).toBe(text);
  expect(await inPieces(utf16(`\uFEFF${text}`, "be").subarray(0, -1))).toBe("{é€\uFFFD");
  expect(await inPieces(Buffer.from(text))).toBe(text);
  const broken = Uint8Array.of(0xff, 0xfe, 0, 0xd8);
  expect(decodeTextFile(broken)).toBeNull();
  const cut = {
    reason: "TEXT_DAMAGED",
    detail:
      "This is UTF-16 that is cut off, damaged or read as another encoding: give the file as it is, or save it as UTF-8.",
  };
  expect(findDamagedUtf16(broken)).toMatchObject(cut as never);
  expect(findDamagedUtf16(Buffer.from(text))).toBeNull();
  const { detail: misread } = cut;
  expect(findMisreadUtf16("{\0}\0")?.detail).toBe(misread);
  expect(findMisreadUtf16("text {\0}\0")).toBeNull();
});
