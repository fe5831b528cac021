import { expect, test } from "bun:test";
import { getListFromStatusListJWT, getStatusListFromJWT } from "@sd-jwt/jwt-status-list";
import { decodeJwt } from "jose";
import { eventually } from "../harness/eventually.ts";
import { teacher } from "./registry.ts";
import { type Partner, readJson, sharedWorld } from "./world.ts";

const purpose = "SCHOOL_EMPLOYMENT_VERIFICATION";
const regNo = "LA/PT/2019/00001";
const numbers = { t_id: "1000001", nin: "70000000001", nin_verified: "true" };
const contacts = { email: "ngozi.eze@example.com", phone: "+2348031234501" };
const world = sharedWorld({
  rows: [
    teacher(regNo, { ...numbers, ...contacts, name: "Ngozi Eze" }),
    teacher("LA/PT/2019/00002", { t_id: "1000002", name: "Bello Musa" }),
    teacher("LA/PT/2019/00003", { t_id: "1000003", name: "Ada Obi" }),
  ],
  // Several nodes share the limit of an address.
  args: ["--status-list", "on", "--public-per-minute", "600"],
});

type Envelope = { signature: string; result: { found: boolean } };

const nobody = { found: false, status: "NOT_FOUND", reasons: ["TEACHER_NOT_FOUND"], license: null };

/** Expects that the outer result of an envelope is the signed one. @returns whether it finds the teacher */
function finds({ signature, result }: Envelope): boolean {
  expect(decodeJwt(signature).result).toEqual(result);
  if (!result.found) expect(result).toMatchObject(nobody);
  return result.found;
}

/** Asks for the teacher in every way. @returns whether each way finds the teacher */
async function answers(partner: Partner): Promise<Record<string, boolean>> {
  const identifiers = [{ regNo }, { tId: 1_000_001 }, { nin: numbers.nin }];
  const seen: Record<string, boolean> = {};
  for (const [name, response] of [
    ["by-reg-no", partner.get(`/lookup/by-reg-no/${encodeURIComponent(regNo)}`)],
    ["by-tid", partner.get("/lookup/by-tid/1000001")],
    ["by-nin", partner.post("/lookup/by-nin", { nin: numbers.nin })],
    ...identifiers.map((one) => [`check ${Object.keys(one)}`, partner.check(one)] as const),
  ] as const)
    seen[name] = finds(await readJson(await response));
  const items = identifiers.map((identifier) => ({ identifier, purpose }));
  const batch = await readJson<{ results: Envelope[] }>(await partner.post("/batch", { items }));
  for (const [place, one] of batch.results.entries()) seen[`batch ${place}`] = finds(one);
  const list = { purpose, list: { name: "Staff" }, teachers: identifiers };
  const statement = await readJson<{ summary: { found: number } }>(await partner.post("/rosters", list));
  seen.roster = statement.summary.found > 0;
  for (const searchTerm of [regNo, "1000001", numbers.nin, contacts.email, contacts.phone]) {
    const body = new URLSearchParams({ searchTerm });
    const answer = await world.get(`/teacher/verify-license?${body}`);
    seen[`public ${searchTerm}`] = (await readJson<{ found: boolean }>(answer)).found;
    const page = await fetch(world.service().url, { method: "POST", body });
    expect(page.status).toBe(200);
    seen[`page ${searchTerm}`] = (await page.text()).includes("Ngozi Eze");
  }
  return seen;
}

/** Looks a teacher up. @returns reads the teacher's entry of the status list that the envelope names */
async function statusOf(partner: Partner, tId: string): Promise<() => Promise<number>> {
  const { signature } = await readJson<Envelope>(await partner.get(`/lookup/by-tid/${tId}`));
  const { idx, uri } = getStatusListFromJWT(signature);
  return async () =>
    getListFromStatusListJWT(await (await world.get(new URL(uri).pathname)).text()).getStatus(idx);
}

test("the served status list shows a revoked and a deactivated teacher as withdrawn, and no other teacher", async () => {
  const partner = await world.partner();
  const bits = await Promise.all(["1000001", "1000002", "1000003"].map((tId) => statusOf(partner, tId)));
  const read = () => Promise.all(bits.map((bit) => bit()));
  expect(await read()).toEqual([0, 0, 0]);
  const change = (action: string, n: number) =>
    world.tvs("teachers", action, `LA/PT/2019/0000${n}`, "--reason", "Test", "--yes");
  expect((await change("revoke", 2)).code).toBe(0);
  expect(await eventually(async () => (await read()).join() === "0,1,0")).toBe(true);
  expect((await change("deactivate", 3)).code).toBe(0);
  expect(await eventually(async () => (await read()).join() === "0,1,1")).toBe(true);
});

test("a hidden teacher is not found, and counts as withdrawn in the status list, until tvs unhides the teacher", async () => {
  const partner = await world.partner();
  const before = await answers(partner);
  expect(Object.entries(before).filter(([, found]) => !found)).toEqual([]);
  const bit = await statusOf(partner, "1000001");
  expect(await bit()).toBe(0);

  expect((await world.tvs("teachers", "hide", regNo, "--reason", "Duplicate", "--yes")).code).toBe(0);
  const after = await answers(partner);
  expect(Object.entries(after).filter(([, found]) => found)).toEqual([]);
  expect(Object.keys(after)).toEqual(Object.keys(before));
  expect(await eventually(async () => (await bit()) === 1)).toBe(true);
  expect(await (await partner.get("/events")).text()).toContain("teacher.deactivated");

  expect((await world.tvs("teachers", "unhide", regNo, "--reason", "No duplicate")).code).toBe(0);
  expect(await answers(partner)).toEqual(before);
  expect(await eventually(async () => (await bit()) === 0)).toBe(true);
});
