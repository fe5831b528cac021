import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { openApiDocument } from "../../src/api/openapi.ts";
import { withTempDir } from "../harness/folder.ts";
import { withTestOperator } from "../harness/service.ts";

const main = join(import.meta.dirname, "../../cli/main.ts");

async function tvs(...words: string[]): Promise<{ code: number; out: string; err: string }> {
  const env = { ...process.env, TVS_ISSUER: "", TVS_DATA: "", TVS_DATABASE: "" };
  const child = Bun.spawn([process.execPath, main, ...words], { stdout: "pipe", stderr: "pipe", env });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, out, err };
}

describe("tvs openapi", () => {
  test("prints the document without making a database", async () => {
    await withTempDir(async (folder) => {
      const data = join(folder, "none");
      const { code, out, err } = await tvs(
        "openapi",
        "--data",
        data,
        "--issuer",
        "https://verify.example.gov/",
      );
      expect([code, err]).toEqual([0, ""]);
      expect(JSON.parse(out)).toEqual(
        JSON.parse(JSON.stringify(openApiDocument("https://verify.example.gov"))),
      );
      expect(out.split("\n").length).toBeGreaterThan(100);
      expect(existsSync(data)).toBe(false);
    });
  });

  test("prints one line of JSON when asked to", async () => {
    await withTempDir(async (data) => {
      const { code, out } = await tvs("openapi", "--data", data, "--json");
      expect(code).toBe(0);
      expect(out.trimEnd()).not.toContain("\n");
      expect(JSON.parse(out)).toMatchObject({ servers: [{ url: "http://127.0.0.1:8080" }] });
    });
  });

  test("names the issuer that the database remembers", async () => {
    await withTempDir(async (data) => {
      await withTestOperator(data, ({ stores: { settings } }) =>
        settings.write({ issuer: "https://remembered.example" }),
      );
      const { out } = await tvs("openapi", "--data", data, "--json");
      expect(JSON.parse(out)).toMatchObject({ servers: [{ url: "https://remembered.example" }] });
    });
  });

  test("refuses an issuer that is no address", async () => {
    const { code, out, err } = await tvs("openapi", "--issuer", "teachers");
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain("--issuer");
  });
});
