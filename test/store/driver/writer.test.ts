import { expect, test } from "bun:test";
import { type RowsTarget, type Statement, statement } from "../../../src/store/driver/driver.ts";
import { createPacker, createUnpacker, packRows, unpackRows } from "../../../src/store/driver/writer.ts";

const insert: RowsTarget = { table: "person", columns: ["id", "photo"], bytes: ["photo"] };

const batch = (n: number): Statement[] => [
  statement("INSERT INTO person VALUES (?, ?)", [n, "Ada"]),
  statement("DELETE FROM person"),
  statement(`SELECT ${n}, ?`, [new Uint8Array([n]).slice()]),
  statement("INSERT INTO person VALUES (?, ?)", [null, true]),
  { insert, rows: JSON.stringify([[n, "00FF"]]) },
];

test("statements arrive as they were, and a text or a target is sent once", () => {
  const packer = createPacker();
  const unpack = createUnpacker();
  const sent = [1, 2, 3].map((n) => packer.pack(batch(n)));
  expect(sent.map(unpack)).toEqual([1, 2, 3].map(batch));
  expect(sent.map(({ texts }) => texts.length)).toEqual([4, 1, 1]);
});

test("ever new texts do not fill the memory, and all still arrive", () => {
  const packer = createPacker();
  const unpack = createUnpacker();
  const sent = Array.from({ length: 2_000 }, (_, n) => packer.pack(batch(n % 200)));
  const manyTexts = Array.from({ length: 2_000 }, (_, n) => packer.pack(batch(n)));
  expect(sent.map(unpack).at(-1)).toEqual(batch(199));
  expect(manyTexts.map(unpack).at(-1)).toEqual(batch(1_999));
  expect(manyTexts.filter(({ restart }) => restart).length).toBeGreaterThan(1);
});

test("after a message that was lost, every text is sent again", () => {
  const packer = createPacker();
  const unpack = createUnpacker();
  unpack(packer.pack(batch(1)));
  packer.pack(batch(2));
  packer.restart();
  expect(unpack(packer.pack(batch(2)))).toEqual(batch(2));
});

test("of bytes only what is seen is sent, not the buffer behind them", () => {
  const seen = new Uint8Array(1_000).subarray(10, 12);
  const [part] = createPacker()
    .pack([statement("SELECT ?", [seen])])
    .parts.slice(2);
  expect((part as Uint8Array).buffer.byteLength).toBe(2);
});

test("rows come back to the statements that returned them", () => {
  const rows = [[], [{ n: 1 }], [], [{ n: 2 }, { n: 3 }], []];
  expect(unpackRows(packRows(rows), rows.length)).toEqual(rows);
});
