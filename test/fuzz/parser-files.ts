/** The parsers of files, of what proxies pass on and of what a service answers: each reads it, or refuses it in its own words. */

import { strict as assert } from "node:assert";
import { createHash, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { writeXlsx } from "hucre/xlsx";
import { createBlindIndex } from "../../src/domain/blind-index.ts";
import { readCertificate, readClientCertificate } from "../../src/domain/certificates.ts";
import { type ErrorCode, isTvsError } from "../../src/domain/errors.ts";
import type { ImportInput } from "../../src/domain/import/extract.ts";
import { readPieces } from "../../src/domain/import/read.ts";
import { createSourceAddress, parseClientCertHeader } from "../../src/http/peer.ts";
import { foreignFiles } from "../domain/import/foreign-files.ts";
import { zipOf } from "../harness/archive.ts";
import { csv, rows } from "../harness/imports.ts";
import { membersOf } from "./parser-edits.ts";
import type { Target } from "./parser-evidence.ts";

/** What an act gives; null where it refuses by one of these codes. @throws whatever else it throws */
async function orRefused<T>(codes: readonly ErrorCode[], act: () => T | Promise<T>): Promise<T | null> {
  try {
    return await act();
  } catch (error) {
    if (!isTvsError(error) || !codes.includes(error.code)) throw error;
    return null;
  }
}

const blindIndex = createBlindIndex(new Uint8Array(32).fill(7));
const foreign = await foreignFiles();
const isBook = (file: Buffer) => file[0] === 0x50;

/** The same in every run: without the time at which it was made. */
function repacked(book: Buffer): Buffer {
  return zipOf(
    Object.fromEntries(Object.entries(membersOf(book)).filter(([name]) => !name.startsWith("docProps/"))),
  );
}

const own = [
  csv(rows(5)),
  '{"regNo":"A/1/B/1","tId":1,"name":"Ada","profile":{"a":[1]},"nin":null}\n{"tId":2}\n',
];
const cells = csv(rows(5))
  .split("\n")
  .map((line) => line.split(","));
const extracts = [
  ...own.map((text) => Buffer.from(text)),
  repacked(Buffer.from(await writeXlsx({ sheets: [{ name: "Teachers", rows: cells }] }))),
  // Beginnings are enough: forty rows say no more than ten.
  ...foreign
    .map(({ content }) => Buffer.from(content))
    .map((file) => (isBook(file) ? repacked(file) : file.subarray(0, 900))),
];

async function* inPieces(content: Buffer, length: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += length) yield content.subarray(at, at + length);
}

/** Every row of an extract as it was checked; or in which words it was refused. */
async function readAll(content: Buffer, pieceBytes: number) {
  const input: ImportInput = { name: "extract", bytes: inPieces(content, pieceBytes), reading: {} };
  let said = "";
  const all: unknown[] = [];
  try {
    for await (const { rows } of readPieces(input, blindIndex)) all.push(...rows);
  } catch (error) {
    if (!isTvsError(error) || !["INPUT_UNREADABLE", "REFUSED"].includes(error.code)) throw error;
    said = error.message;
  }
  return { said, all };
}

const extract = (corpus: readonly Buffer[], share: number): Target => ({
  corpus,
  share,
  async judge(input) {
    const whole = await readAll(input, 2 ** 20);
    // However it arrives, it is the same file; what is wrong with it may be found in another order.
    const pieces = await readAll(input, 1 + (input.length % 13));
    assert.equal(pieces.said === "", whole.said === "");
    if (whole.said === "")
      assert(isDeepStrictEqual(pieces.all, whole.all), "rows differ by the pieces they came in");
    return whole.all.length > 0;
  },
});

/** Of an EC key that nobody has; for the year 2026. */
const derText =
  "MIIBZjCCAQygAwIBAgIQFjwsjLsnR3yhmxqtaCSUTDAKBggqhkjOPQQDAjASMRAwDgYDVQQDEwdwYXJ0bmVyMB4XDTI2MDEwMTAwMDAwMFoX" +
  "DTI3MDEwMTAwMDAwMFowEjEQMA4GA1UEAxMHcGFydG5lcjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABEhwrVyljvM81E9eJ3+fUPEbdeJi" +
  "TdLp9XmEzQZU9HrKkJogH9cCCIYiqFxQV1ww6cWy+CsUrON/5fwl14AZCoujRDBCMBIGA1UdEwEB/wQIMAYBAf8CAQEwLAYDVR0RBCUwI4IJ" +
  "bG9jYWxob3N0hwR/AAABhxAAAAAAAAAAAAAAAAAAAAABMAoGCCqGSM49BAMCA0gAMEUCIQDMufgi6qsY+bm5QbTK2bpGxjTG+oKSxXLSDR7h" +
  "FNnl7wIgQg694qmAPqU34Rt2JHmZb9tn5hNyC0qPtHLrGqq9Wtc=";
const der = Buffer.from(derText, "base64");
const certPem = `-----BEGIN CERTIFICATE-----\n${derText}\n-----END CERTIFICATE-----\n`;
const inTime = { now: Date.parse("2026-03-01") };
const fingerprintOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

const certificate: Target = {
  corpus: [der, Buffer.from(certPem), Buffer.from(certPem + certPem)],
  share: 40,
  async judge(input) {
    const presented = readCertificate(input);
    if (presented !== null) {
      assert.equal(presented.fingerprint, fingerprintOf(input));
      assert.equal(new X509Certificate(input).raw.compare(input), 0, "more than one certificate");
    }
    const header = `:${input.toString("base64")}:`;
    assert.deepEqual(parseClientCertHeader(header), presented);
    const read = await orRefused(["INPUT_UNREADABLE", "REFUSED"], () =>
      readClientCertificate(input, "a", inTime),
    );
    if (read === null) return false;
    const inside =
      input[0] === 0x30
        ? input
        : Buffer.from(/E-----\n([^-]+)-/.exec(input.toString("latin1"))?.[1] ?? "", "base64");
    assert.equal(read.fingerprint, fingerprintOf(inside));
    return true;
  },
};

const sourceOf = createSourceAddress({ trustedProxies: ["10.0.0.0/8", "fd00::/8"] });
const forwarded: Target = {
  corpus: ["203.0.113.9, 10.9.9.9", "[2001:db8::1]:4711, 10.1.1.1:80, fd00::5", `:${derText}:`].map((text) =>
    Buffer.from(text),
  ),
  share: 30,
  judge(input) {
    const text = input.toString("latin1");
    for (const remote of ["10.0.0.1", "203.0.113.1"]) {
      const source = sourceOf(remote, text);
      assert(isIP(source) > 0 && (remote === "10.0.0.1" || source === remote));
    }
    return parseClientCertHeader(text) !== null;
  },
};

export const files: Readonly<Record<string, Target>> = {
  "CSV and NDJSON": extract(
    extracts.filter((file) => !isBook(file)),
    60,
  ),
  workbooks: extract(extracts.filter(isBook), 15),
  ...{ "client certificates": certificate, "proxies' headers": forwarded },
};
