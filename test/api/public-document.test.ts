import { expect, test } from "bun:test";
import type { CompressedDocument } from "../../src/api/public-document.ts";
import { compressDocument, createDocumentCache } from "../../src/api/public-document.ts";
import type { Snapshot } from "../../src/domain/configuration.ts";

const settingsOf = (issuer: string) => ({ settings: { issuer, site: site } }) as unknown as Snapshot;
const site = {};

test("a cached document is made once for each key of the cache, and again after the issuer has changed", async () => {
  let snapshot = settingsOf("https://one.example");
  const kept = createDocumentCache({ current: () => snapshot });
  const made: string[] = [];
  const get = (name: string): Promise<CompressedDocument> =>
    kept(name, ({ issuer }) => {
      made.push(`${name} of ${issuer}`);
      return compressDocument(issuer, "text/plain");
    });
  const first = await get("a");
  expect(await get("a")).toBe(first);
  await get("b");
  snapshot = settingsOf("https://other.example");
  expect(await get("a")).not.toBe(first);
  expect(made).toEqual([
    "a of https://one.example",
    "b of https://one.example",
    "a of https://other.example",
  ]);
});

test("a cached document that could not be made is made again at the next request", async () => {
  const kept = createDocumentCache({ current: () => settingsOf("https://one.example") });
  let tries = 0;
  const get = () =>
    kept("a", async () => {
      if (++tries === 1) throw new Error("no disk");
      return compressDocument("it", "text/plain");
    });
  await expect(get()).rejects.toThrow("no disk");
  await expect(get()).resolves.toMatchObject({ type: "text/plain" });
});
