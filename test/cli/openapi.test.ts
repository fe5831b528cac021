import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { buildOpenApiDocument } from "../../src/api/openapi.ts";
import { runTvs } from "../harness/command.ts";
import { withTempDir } from "../harness/folder.ts";
import { withTestContext } from "../harness/service.ts";

test("tvs openapi prints the OpenAPI document and makes no database", () =>
  withTempDir(async (folder) => {
    const data = join(folder, "none");
    const words = ["openapi", "--data", data, "--issuer", "https://verify.example.gov/"];
    const { code, stdout, stderr } = await runTvs(words);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toBe(`${JSON.stringify(buildOpenApiDocument("https://verify.example.gov"), null, 2)}\n`);
    expect(existsSync(data)).toBe(false);
  }));

test("tvs openapi --json prints one line, with the issuer that the database stores", () =>
  withTempDir(async (data) => {
    const url = "https://remembered.example";
    await withTestContext(data, ({ settings }) => settings.write({ issuer: url }));
    const { stdout } = await runTvs(["openapi", "--data", data, "--json"]);
    expect(stdout.trimEnd()).not.toContain("\n");
    expect(JSON.parse(stdout)).toMatchObject({ servers: [{ url }] });
  }));
