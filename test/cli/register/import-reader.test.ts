import { describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { createReadStream } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readInThread } from "../../../cli/register/import-reader.ts";
import { createBlindIndex } from "../../../src/domain/blind-index.ts";
import { type FilePiece, readPieces } from "../../../src/domain/import/read.ts";
import { withTempDir } from "../../harness/folder.ts";
import { csv, row, rows } from "../../harness/imports.ts";
import { rejection } from "../../harness/rejection.ts";

const entry = new URL("../../../cli/main.ts", import.meta.url);
const blindIndexKey = new Uint8Array(32).fill(9);

const contacts = { nin: "12345678901", email: "Ada@Example.org", phone: "0803 123 4567" };
const json = (members: object) => JSON.stringify({ regNo: "TR/1/2/3", name: "A", ...members });
const profile = {
  qualifications: [{ title: "B.Ed. “Hons”", institution: null, year: 2001 }],
  employment: [],
};

/** An extract of each kind: many pieces, faults, nothing, a format of lines, and what ends the reading. */
const files: [string, string | Buffer][] = [
  ["plain.csv", csv(rows(3000).map((one, n) => ({ ...one, ...contacts, nin: String(20_000_000_000 + n) })))],
  [
    "rejected.csv",
    csv([row(1, { nin: "2.3E+10" }), row(2, { t_id: "x", active: "2" }), row(3, { email: "no", x: "?" })]),
  ],
  ["empty.csv", ""],
  ["latin1.csv", Buffer.concat([Buffer.from(csv(rows(2000))), Buffer.from([0x52, 0xe9, 10])])],
  ["mixed.ndjson", [json({ tId: 7, active: true, profile }), json({ nin: 12345678901, odd: 1 })].join("\n")],
  ["broken.ndjson", `${json({})}\n{"regNo":\n`],
];

/** Whatever is read, and how it ended. */
async function readAll(pieces: AsyncIterable<FilePiece>) {
  const all: FilePiece[] = [];
  const error = await rejection(
    (async () => {
      for await (const piece of pieces) all.push(piece);
    })(),
  );
  const { code, message } = (error ?? {}) as { code?: string; message?: string };
  return { all, code, message };
}

describe("an extract that is read in a thread", () => {
  test.each(files)("is read as it is in this one: %s", (name, content) =>
    withTempDir(async (folder) => {
      const file = join(folder, name);
      await writeFile(file, content);
      const here = readPieces(
        { name, bytes: createReadStream(file, { highWaterMark: 256 * 1024 }) },
        createBlindIndex(blindIndexKey),
      );
      const expected = await readAll(here);
      const found = await readAll(readInThread(entry, { file, name, blindIndexKey, reading: {} }));
      expect(found).toEqual(expected);
      expect(found.message === undefined).toBe((found.all.at(-1)?.sha256 ?? null) !== null);
    }),
  );

  test("waits for whoever takes the rows, and ends when nobody does any more", () =>
    withTempDir(async (folder) => {
      const file = join(folder, "large.csv");
      await writeFile(file, csv(rows(20_000)));
      let taken = 0;
      const data = { file, name: "large.csv", blindIndexKey, reading: {} };
      for await (const piece of readInThread(entry, data)) {
        taken += piece.rows.length;
        if (taken > 3000) break;
      }
      expect(taken).toBeLessThan(10_000);
    }));

  test("that is not there is told of as such", () =>
    withTempDir(async (folder) => {
      const file = join(folder, "none.csv");
      const pieces = readInThread(entry, { file, name: "none.csv", blindIndexKey, reading: {} });
      expect(await rejection(pieces.next())).toMatchObject({
        code: "INPUT_UNREADABLE",
        message: "none.csv: there is no such file",
      });
    }));
});
