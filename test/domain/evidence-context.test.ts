import { expect, test } from "bun:test";
import { known, openTestService } from "../harness/service.ts";

test("what looks like a contact or a NIN is taken out of the context, which stays JSON whatever surrounds it", async () => {
  const world = await openTestService();
  try {
    const context = {
      examBatch: 'batch "x@y"z" \\',
      employerName: "call +2348031234567, NIN 12345678901",
      correlationId: "2026-00017",
    };
    const body = { identifier: { regNo: known.regNo }, purpose: "GENERAL_PUBLIC_VERIFICATION", context };
    const answer = await world.call("/v1/inter-agency/eligibility-check", { as: "full", body });
    expect(answer.status).toBe(200);
    const [row] = await world.operator.stores.attestations.list({ limit: 1 });
    expect(JSON.parse(row?.context ?? "")).toEqual({
      examBatch: 'batch "[removed]"z" \\',
      employerName: "call [removed], NIN [removed]",
      correlationId: "2026-00017",
    });
  } finally {
    await world.close();
  }
});
