import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { withTempDir } from "../harness/folder.ts";
import { csv, row } from "../harness/imports.ts";
import { runWell, startService, testTimeoutMs } from "../harness/program.ts";

setDefaultTimeout(testTimeoutMs);

const terms = ["--scopes", "all", "--purposes", "all", "--per-minute", "100", "--per-day", "100"];
const purpose = "GENERAL_PUBLIC_VERIFICATION";
const identifier = { regNo: "TR/2019/LA/999999" };

test("an empty register answers every lookup and check with 503 REGISTER_EMPTY until the first import", () =>
  withTempDir(async (folder) => {
    const dataDir = join(folder, "data");
    await runWell(["init", "--issuer", "https://verify.example.org", "--name", "R", "--data", dataDir]);
    const added = await runWell(["partners", "add", "board", "--name", "B", ...terms, "--json"], { dataDir });
    const { apiKey } = added.json<{ apiKey: string }>();
    const service = await startService({ dataDir });
    try {
      const api = `${service.url}/v1/inter-agency`;
      const post = (path: string, body: object) =>
        fetch(`${api}/${path}`, {
          method: "POST",
          headers: { Authorization: `Bearer ${apiKey}` },
          body: JSON.stringify(body),
        });
      const get = (path: string) =>
        fetch(`${api}/${path}`, { headers: { Authorization: `Bearer ${apiKey}` } });
      const asked = () => [
        fetch(`${service.url}/teacher/verify-license?searchTerm=1001`),
        post("eligibility-check", { identifier, purpose }),
        post("batch", { items: [{ identifier, purpose }] }),
        post("lookup/by-nin", { nin: "99900000001" }),
        get("lookup/by-reg-no/TR%2F2019%2FLA%2F999999"),
        get("lookup/by-tid/999999"),
      ];
      for (const answer of await Promise.all(asked())) {
        const { status, headers } = answer;
        expect([status, headers.get("x-error-code"), headers.get("retry-after")]).toEqual([
          503,
          "REGISTER_EMPTY",
          "1",
        ]);
      }
      const health = await fetch(`${api}/health`);
      expect([health.status, ((await health.json()) as { status: string }).status]).toEqual([503, "empty"]);
      const page = await fetch(service.url, {
        method: "POST",
        body: new URLSearchParams({ searchTerm: "1001" }),
      });
      expect(page.status).toBe(503);
      const kept = await runWell(["attestations", "list", "--partner", "board", "--json"], { dataDir });
      expect(kept.stdout).not.toContain("jws");
      const extract = join(folder, "extract.csv");
      await Bun.write(extract, csv([row(1)]));
      await runWell(["teachers", "import", extract, "--baseline"], { dataDir });
      for (const { status } of await Promise.all(asked())) expect(status).toBe(200);
    } finally {
      await service.stop();
    }
  }));
