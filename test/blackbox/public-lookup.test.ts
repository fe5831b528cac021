import { expect, test } from "bun:test";
import { dateIn, daysBetween, teachers } from "./registry.ts";
import { readJson, sharedWorld } from "./world.ts";

const path = "/teacher/verify-license";

const world = sharedWorld({ rows: [teachers.valid] });

const lookUp = (term: string, headers: Record<string, string> = {}) =>
  world.get(`${path}?searchTerm=${encodeURIComponent(term)}`, headers);

test("the public lookup of a licensed teacher answers with every published member", async () => {
  const { valid } = teachers;
  const response = await lookUp(valid.reg_no);
  expect(response.status).toBe(200);
  const answer = await readJson<{ verifiedAt: string }>(response);
  const today = dateIn("Africa/Lagos", 0, Date.parse(answer.verifiedAt));
  expect<object>(answer).toEqual({
    found: true,
    name: valid.name,
    tId: valid.t_id,
    status: "Licensed",
    state: "Lagos",
    teacher: {
      name: valid.name,
      tId: valid.t_id,
      state: "Lagos",
      category: "Secondary",
      photoUrl: valid.photo_url,
    },
    certificate: { status: "VERIFIED", regNo: valid.reg_no, issueDate: "2019-03-04" },
    license: {
      status: "VALID",
      issueDate: valid.license_issue_date,
      expiryDate: valid.license_expiry_date,
      daysRemaining: daysBetween(today, valid.license_expiry_date),
    },
    verifiedAt: answer.verifiedAt,
  });
  expect(Math.abs(Date.parse(answer.verifiedAt) - Date.now())).toBeLessThan(60_000);
  expect(answer.verifiedAt).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/);
});

test("an answer about a found teacher may be cached by the caller alone, for a day, and other answers may not be cached", async () => {
  const found = await lookUp(teachers.valid.reg_no);
  expect(found.headers.get("Cache-Control")).toBe("private, max-age=86400");
  const none = await lookUp("LA/PT/2019/99999");
  expect(none.headers.get("Cache-Control")).toBe("no-store");
});

test("a script of any site may read the public lookup's answers and refusals (CORS)", async () => {
  const origin = { Origin: "https://school.example" };
  for (const response of [
    await lookUp(teachers.valid.reg_no, origin),
    await lookUp(" ", origin),
    await world.get("/v1/inter-agency/health", origin),
    await world.get("/v1/inter-agency/.well-known/jwks.json", origin),
    await world.get("/v1/inter-agency/.well-known/key-history", origin),
  ]) {
    expect(response.headers.get("Access-Control-Allow-Origin")).toBe("*");
  }
  const partner = await world.get("/v1/inter-agency/lookup/by-tid/1", origin);
  expect(partner.headers.get("Access-Control-Allow-Origin")).toBeNull();
});
