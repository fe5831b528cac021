/** The parsers of files, of what proxies pass on and of what a service answers: each reads it, or refuses it in its own words. */

import { strict as assert } from "node:assert";
import { createHash, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { writeXlsx } from "hucre/xlsx";
import { createBlindIndex } from "../../src/domain/blind-index.ts";
import { readCertificate, readClientCertificate } from "../../src/domain/certificates.ts";
import { type ErrorCode, isTvsError } from "../../src/domain/errors.ts";
import { readTimeStamp, tags, writeDer } from "../../src/domain/evidence/time-stamp.ts";
import { readCsv } from "../../src/domain/import/csv.ts";
import { type ImportInput, openTable, type Reading } from "../../src/domain/import/extract.ts";
import { parseMapping, refuseOpen } from "../../src/domain/import/mapping.ts";
import { readPieces, unreadable } from "../../src/domain/import/read.ts";
import { suggestMapping } from "../../src/domain/import/suggest.ts";
import { parsePolicy } from "../../src/domain/policy.ts";
import { parseSite } from "../../src/domain/site-file.ts";
import { listedTeacher, readRosterHeader } from "../../src/domain/teachers/roster.ts";
import { createSourceAddress, parseClientCertHeader } from "../../src/http/peer.ts";
import { ClientError, createClient } from "../../src/partner/partner.ts";
import * as examples from "../api/openapi/examples.ts";
import { foreignFiles } from "../domain/import/foreign-files.ts";
import { audience, issuer } from "../fixtures/envelope-tokens.ts";
import { zipOf } from "../harness/archive.ts";
import { csv, rows } from "../harness/imports.ts";
import { wholePngs } from "../harness/png.ts";
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
async function readAll(content: Buffer, pieceBytes: number, reading: Reading = {}) {
  const input: ImportInput = { name: "extract", bytes: inPieces(content, pieceBytes), reading };
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

const mappings = [
  {
    columns: { "Registration No": "reg_no", Source: "source", "Full Name": "name" },
    ignore: ["Phone Number"],
    dates: "D/M/YYYY",
  },
  {
    ...{ delimiter: ";", encoding: "windows-1252", header: 2 },
    constants: { source: "legacy" },
    values: { state: { LA: "Lagos" } },
  },
];
const mapped = extracts[3] ?? Buffer.of();

const mapping: Target = {
  corpus: mappings.map((one) => Buffer.from(JSON.stringify(one))),
  share: 30,
  async judge(input) {
    const read = await orRefused(["INPUT_UNREADABLE"], () => parseMapping(input.toString(), "mapping"));
    if (read === null) return false;
    await orRefused(["INPUT_UNREADABLE"], () => refuseOpen(read, "mapping"));
    await readAll(mapped, 512, { mapping: read });
    await readAll(mapped, 512, { remembered: read });
    return true;
  },
};

const suggestion: Target = {
  corpus: extracts,
  share: 30,
  async judge(input) {
    const suggested = await orRefused(["INPUT_UNREADABLE"], async () => {
      try {
        return await suggestMapping(await openTable({ name: "extract", bytes: inPieces(input, 4096) }), {});
      } catch (error) {
        throw unreadable("extract", error);
      }
    });
    if (suggested === null) return false;
    // What is proposed is one that is read.
    assert.deepEqual(
      parseMapping(JSON.stringify(suggested.mapping), "mapping").columns,
      suggested.mapping.columns,
    );
    return true;
  },
};

const roster: Target = {
  corpus: ["reg_no,t_id,nin,name\nA/1/B/1,7,12345678901,Ada\n,8,,\n", "T_ID\n1\n2\nx\n"].map((text) =>
    Buffer.from(text),
  ),
  share: 30,
  async judge(input) {
    const read = await orRefused(["INPUT_UNREADABLE"], async () => {
      const all: (readonly string[])[] = [];
      try {
        const pieces = readCsv(inPieces(input, 64), { maxRecordBytes: 65_536, rules: "lenient" });
        for await (const records of pieces) all.push(...records.map(({ cells }) => cells));
      } catch (error) {
        throw unreadable("list", error);
      }
      return { header: readRosterHeader(all[0] ?? []), all };
    });
    for (const cells of read?.all.slice(1) ?? []) if (read !== null) listedTeacher(cells, read.header);
    return read !== null;
  },
};

const policy: Target = {
  corpus: [readFileSync(join(import.meta.dirname, "../../data/default-policy.json"))],
  share: 20,
  judge: async (input) => (await orRefused(["CONFIG_INVALID"], () => parsePolicy(input.toString()))) !== null,
};

const [picture = Buffer.alloc(0), ...pictures] = Object.values(wholePngs());
const contact = {
  email: "help@council.example",
  phone: "+234 9 000 0000",
  url: "https://council.example",
  address: "1 Road",
};
const document = {
  name: "Council",
  logo: "logo.png",
  accent: "#0B4F9C",
  contact,
  privacyUrl: "https://council.example/p",
};

const site: Target = {
  corpus: [Buffer.from(JSON.stringify(document))],
  share: 20,
  judge: async (input) =>
    (await orRefused(["CONFIG_INVALID"], () => parseSite(input.toString(), () => picture))) !== null,
};

const logo: Target = {
  corpus: [picture, ...pictures],
  share: 25,
  async judge(input) {
    const read = await orRefused(["CONFIG_INVALID"], () =>
      parseSite(JSON.stringify({ name: "a", logo: "b" }), () => input),
    );
    if (read === null) return false;
    assert.equal(Buffer.from(read.logo?.data ?? "", "base64").compare(input), 0);
    const isFirst = input.indexOf("IHDR") === 12 && input.lastIndexOf("IHDR") === 12;
    assert(isFirst, "whoever is given this logo may see another size in it");
    assert(input.readUInt32BE(16) * input.readUInt32BE(20) <= 2048 ** 2);
    return true;
  },
};

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

/** An authority's answer (RFC 3161), which nobody has signed: who did is not read here. */
const content = Buffer.from("a checkpoint\n");
const sequence = (...parts: Uint8Array[]) => writeDer(tags.sequence, ...parts);
const oid = (...numbers: number[]) => writeDer(tags.oid, Uint8Array.from(numbers));
const sha256 = oid(0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01);
const digest = writeDer(tags.octets, createHash("sha256").update(content).digest());
const integer = (...bytes: number[]) => writeDer(tags.integer, Uint8Array.from(bytes));
const info = sequence(
  ...[integer(1), oid(0x2a, 0x03, 0x04), sequence(sequence(sha256), digest), integer(7)],
  writeDer(tags.time, Buffer.from("20260301120000Z")),
);
const pkcs7 = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01];
const inner = sequence(
  oid(...pkcs7, 0x09, 0x10, 0x01, 0x04),
  writeDer(tags.explicit, writeDer(tags.octets, info)),
);
const token = sequence(
  oid(...pkcs7, 0x07, 0x02),
  writeDer(tags.explicit, sequence(integer(3), writeDer(tags.set), inner)),
);

const timeStamp: Target = {
  corpus: [
    sequence(sequence(integer(0)), token),
    sequence(sequence(integer(2), sequence(writeDer(tags.text, content)))),
  ],
  share: 30,
  async judge(input) {
    const read = await orRefused(["INPUT_UNREADABLE", "REFUSED"], () => readTimeStamp(input, { content }));
    if (read === null) return false;
    assert(input.includes(createHash("sha256").update(content).digest()) && Number.isFinite(read.time));
    return true;
  },
};

/** Every answer that a client may get, by a service or by whoever stands between; the keys are the service's own. */
const events = { data: [examples.fetchedEvent], iterator: "x", done: true };
const answers = [
  ...[examples.foundEnvelope, examples.batchResponse, examples.statement, examples.publicFound, events],
  ...[examples.health, { statusCode: 429, message: "wait", retryAfterSeconds: 1 }, { watched: 1 }],
];
const documents = { "jwks.json": JSON.stringify(examples.jwks), "key-history": examples.keyHistory };
const answer: Target = {
  corpus: answers.map((one) => Buffer.from(JSON.stringify(one))),
  share: 30,
  async judge(input) {
    const init = { status: input.includes("statusCode") ? 429 : 200 };
    const fetch = async (url: string) => {
      const own = documents[url.split("/").at(-1) as keyof typeof documents];
      return new Response(own ?? new Uint8Array(input), own === undefined ? init : {});
    };
    const item = { identifier: { tId: examples.tId }, purpose: "SCHOOL_EMPLOYMENT_VERIFICATION" } as const;
    const callsOf = (verify?: { issuer: string; audience: string }) => {
      const client = createClient({
        baseUrl: issuer,
        apiKey: "k",
        fetch,
        maxRetries: 0,
        ...(verify && { verify }),
      });
      return [
        ...[client.checkEligibility(item), client.checkBatch([item]), client.lookUpByTId(examples.tId)],
        ...[
          client.stateRoster({ ...item, list: { name: "x" }, teachers: [item.identifier] }),
          client.watch.list(),
        ],
        ...[client.me(), client.events(), client.verifyLicense("x"), client.getHealth()],
      ];
    };
    const ends = await Promise.allSettled([...callsOf(), ...callsOf({ issuer, audience })]);
    for (const end of ends)
      if (end.status === "rejected" && !(end.reason instanceof ClientError)) throw end.reason;
    return ends.some(({ status }) => status === "fulfilled");
  },
};

export const files: Readonly<Record<string, Target>> = {
  "CSV and NDJSON": extract(
    extracts.filter((file) => !isBook(file)),
    60,
  ),
  workbooks: extract(extracts.filter(isBook), 15),
  ...{ mappings: mapping, "tables for a mapping": suggestion, "partners' lists": roster, policies: policy },
  ...{ "site files": site, logos: logo, "client certificates": certificate },
  ...{ "proxies' headers": forwarded, "time-stamps": timeStamp, "services' answers": answer },
};
