import { describe, expect, test } from "bun:test";
import { Hono } from "hono";
import type { Snapshot } from "../../src/domain/configuration.ts";
import {
  type CompressedDocument,
  compressedDocument,
  keptDocuments,
  sendDocument,
} from "../../src/http/public-document.ts";

/** Text that stays large when it is compressed. */
const text = Array.from({ length: 40_000 }, (_, at) =>
  ((at * 2_654_435_761) % 4_294_967_296).toString(36),
).join(" ");
const document = await compressedDocument(text, "text/plain");
const app = new Hono().get("/", (c) => sendDocument(c, document));

test.each([
  ["as it is", "identity", document.bytes],
  ["compressed", "gzip", document.gzipped],
])(
  "a large document is sent %s from one buffer, in pieces that nothing copies",
  async (_how, coding, buffer) => {
    expect(buffer.length).toBeGreaterThan(2 * 64 * 1024);
    for (let time = 0; time < 2; time++) {
      const response = await app.request("/", { headers: { "Accept-Encoding": coding } });
      expect(response.headers.get("Content-Length")).toBe(String(buffer.length));
      const pieces = await piecesOf(response);
      expect(Buffer.concat(pieces)).toEqual(Buffer.from(buffer));
      expect(Math.max(...pieces.map(({ length }) => length))).toBe(64 * 1024);
      expect(pieces.every((piece) => piece.buffer === buffer.buffer)).toBe(true);
    }
  },
);

async function piecesOf(response: Response): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for await (const piece of response.body ?? []) pieces.push(piece);
  return pieces;
}

describe("a document that says something of the service", () => {
  const settingsOf = (issuer: string) => ({ settings: { issuer, site: site } }) as unknown as Snapshot;
  const site = {};

  test("is made once for each name, and anew when the issuer has changed", async () => {
    let snapshot = settingsOf("https://one.example");
    const kept = keptDocuments({ current: () => snapshot });
    const made: string[] = [];
    const get = (name: string): Promise<CompressedDocument> =>
      kept(name, ({ issuer }) => {
        made.push(`${name} of ${issuer}`);
        return compressedDocument(issuer, "text/plain");
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

  test("is made again where it could not be", async () => {
    const kept = keptDocuments({ current: () => settingsOf("https://one.example") });
    let tries = 0;
    const get = () =>
      kept("a", async () => {
        if (++tries === 1) throw new Error("no disk");
        return compressedDocument("it", "text/plain");
      });
    await expect(get()).rejects.toThrow("no disk");
    await expect(get()).resolves.toMatchObject({ type: "text/plain" });
  });
});
