import { expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { openAuditReaders } from "../../cli/audit-reader.ts";
import { setWorkerEntry } from "../../cli/entry.ts";
import { createStores } from "../../cli/open.ts";
import { readConfig } from "../../src/config.ts";
import { leafHash } from "../../src/domain/log/tree.ts";
import { openEmbedded } from "../../src/store/driver/embedded.ts";
import { createAuditStore } from "../../src/store/log-audit.ts";
import { makeRegister, tamper } from "../domain/log/audited-register.ts";
import { sharedFolder } from "../harness/folder.ts";
import { rejection } from "../harness/rejection.ts";

const folder = sharedFolder();

test("threads that read ahead of an audit tell the leaf hashes of a block, and nothing of one that is not sound", async () => {
  setWorkerEntry(new URL("../../cli/main.ts", import.meta.url));
  const { file: whole } = await makeRegister(folder);
  const file = `${folder}/tampered.db`;
  await tamper(whole, file, [
    "UPDATE attestations SET status = 'EXPIRED' WHERE id = 60",
    "DELETE FROM attestations WHERE id = 110",
    "UPDATE attestations SET jws = substr(jws, 1, length(jws) - 20) || 'AAAAAAAAAAAAAAAAAAAA' WHERE id = 160",
  ]);
  const driver = await openEmbedded({ file });
  const register = { config: readConfig({ database: `file:${file}` }, {}), stores: createStores(driver) };
  expect(await openAuditReaders(register, { all: false })).toBeNull();
  const readers = await openAuditReaders(register, { all: true, least: 0 });
  try {
    const starts = [1, 51, 101, 151, 201, 251, 301];
    const blocks = await Promise.all(starts.map((from) => readers?.readBlock(from, from + 39)));
    expect(blocks.map((block) => block !== null)).toEqual([true, false, false, false, true, true, true]);
    const rows = await createAuditStore(driver).rows(201, 240);
    expect(blocks[4]).toEqual({
      leaves: new Uint8Array(Buffer.concat(rows.map(({ jws }) => leafHash(jws)))),
      issuedFrom: rows[0]?.issuedAt ?? 0,
      issuedUpTo: rows[39]?.issuedAt ?? 0,
    });
  } finally {
    await readers?.close();
    await driver.close();
  }
  expect(String(await rejection(readers?.readBlock(1, 40) ?? Promise.resolve()))).toContain("ended");
});
