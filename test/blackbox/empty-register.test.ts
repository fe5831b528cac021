import { expect, setDefaultTimeout, test } from "bun:test";
import { csv, row } from "../harness/imports.ts";
import { testTimeoutMs } from "../harness/program.ts";
import { readJson, withStoppedWorld } from "./world.ts";

setDefaultTimeout(testTimeoutMs);

const purpose = "GENERAL_PUBLIC_VERIFICATION";
const identifier = { regNo: "TR/2019/LA/999999" };

test("an empty register answers every lookup and check with 503 REGISTER_EMPTY until the first import", () =>
  withStoppedWorld({ isEmpty: true }, (world, partner) =>
    world.serving(async ({ url }) => {
      const asked = () => [
        world.get("/teacher/verify-license?searchTerm=1001"),
        partner.check(identifier),
        partner.post("/batch", { items: [{ identifier, purpose }] }),
        partner.post("/lookup/by-nin", { nin: "99900000001" }),
        partner.get("/lookup/by-reg-no/TR%2F2019%2FLA%2F999999"),
        partner.get("/lookup/by-tid/999999"),
      ];
      for (const { status, headers } of await Promise.all(asked()))
        expect([status, headers.get("x-error-code"), headers.get("retry-after")]).toEqual([
          503,
          "REGISTER_EMPTY",
          "1",
        ]);
      const health = await partner.get("/health");
      expect([health.status, (await readJson<{ status: string }>(health)).status]).toEqual([503, "empty"]);
      const page = await fetch(url, { method: "POST", body: new URLSearchParams({ searchTerm: "1001" }) });
      expect(page.status).toBe(503);
      expect(await world.tvsJson<object[]>("attestations", "list", "--partner", partner.id)).toEqual([]);
      await world.tvsJson("teachers", "import", await world.file("extract.csv", csv([row(1)])), "--baseline");
      for (const { status } of await Promise.all(asked())) expect(status).toBe(200);
    }),
  ));
