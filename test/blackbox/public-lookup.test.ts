import { describe, expect, test } from "bun:test";
import type { PublicAnswer } from "./contract.ts";
import { dateIn, daysBetween, teacher, teachers } from "./registry.ts";
import { readJson, sharedWorld } from "./world.ts";

const path = "/teacher/verify-license";
const perMinute = 60;
let callers = 0;

/** The NIN of `eleven` is also the teacher id of one and, from its zero on, the telephone of another. */
const eleven = [
  teacher("OY/PT/2015/00001", { name: "By Nin", nin: "08031234599" }),
  teacher("OY/PT/2015/00002", { name: "By Phone", phone: "08031234599" }),
  teacher("OY/PT/2015/00003", { name: "Phone Only", phone: "+2348031234588" }),
  teacher("OY/PT/2015/00004", { name: "Eleven Digit Id", t_id: "70000000099" }),
];

const world = sharedWorld({
  rows: [...Object.values(teachers), ...eleven],
  args: ["--trusted-proxy", "127.0.0.1/32", "--public-per-minute", String(perMinute)],
});

/** Each call comes from an address of its own, so that the limit is met only where it is tested. */
function freshAddress(): string {
  callers++;
  return `198.51.${callers >> 8}.${callers & 255}`;
}

function lookUp(term: string, headers: Record<string, string> = {}): Promise<Response> {
  return world.get(`${path}?searchTerm=${encodeURIComponent(term)}`, {
    "X-Forwarded-For": freshAddress(),
    ...headers,
  });
}

async function find(term: string): Promise<PublicAnswer> {
  const response = await lookUp(term);
  expect(response.status).toBe(200);
  return readJson<PublicAnswer>(response);
}

describe("search terms", () => {
  const { valid } = teachers;

  test.each([
    ["the registration number", valid.reg_no],
    ["with spaces in it", " la / pt /2019/ 00001 "],
    ["the teacher id", valid.t_id],
    ["the NIN", valid.nin],
    ["the e-mail address in capitals", valid.email.toUpperCase()],
    ["the phone number with +234", "+2348031234501"],
    ["with 0", "08031234501"],
  ])("%s finds the teacher", async (_form, term) => {
    const answer = await find(term);
    expect(answer.found).toBe(true);
    expect(answer.certificate?.regNo).toBe(valid.reg_no);
  });
});

describe("answers", () => {
  test("a licensed teacher, every member", async () => {
    const { valid } = teachers;
    const answer = await find(valid.reg_no);
    const today = dateIn("Africa/Lagos", 0, Date.parse(answer.verifiedAt));
    expect(answer).toEqual({
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
});

describe("HTTP", () => {
  test("a found teacher may be kept for a day by the caller alone, nobody found is never kept", async () => {
    const found = await lookUp(teachers.valid.reg_no);
    expect(found.headers.get("Cache-Control")).toBe("private, max-age=86400");
    const none = await lookUp("LA/PT/2019/99999");
    expect(none.headers.get("Cache-Control")).toBe("no-store");
  });

  test("scripts of any site may read it, refusals included", async () => {
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
});
