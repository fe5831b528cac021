import { afterEach, beforeEach, expect, test } from "bun:test";
import { getListFromStatusListJWT } from "@sd-jwt/jwt-status-list";
import { openRegister } from "../../cli/open.ts";
import { createConfiguration } from "../../src/domain/configuration.ts";
import { markKeyCompromised } from "../../src/domain/keys.ts";
import { rotateSigningKeys } from "../../src/domain/rotation.ts";
import { createStatusIndexer, createStatusListSource } from "../../src/domain/status-list/lists.ts";
import { changeTeacher, type TeacherAction } from "../../src/domain/teachers/changes.ts";
import { createKeySet } from "../../src/partner/key-set.ts";
import { readStrictJson } from "../../src/partner/strict-json.ts";
import { verifyEnvelope } from "../../src/partner/verify-envelope.ts";
import { aClock, type TestClock } from "../harness/clock.ts";
import { knownTeacher, legacyTeacher, openTestService, type TestService } from "../harness/service.ts";

const api = "/v1/inter-agency";
let clock: TestClock;
let world: TestService;
beforeEach(async () => {
  clock = aClock("2026-03-01T09:30:00.250Z");
  world = await openTestService({ clock });
  await turn("on");
});
afterEach(() => world.close());

async function turn(status_list: "on" | "off"): Promise<void> {
  await world.operator.stores.settings.write({ status_list });
  await world.service.configuration.refresh();
  clock.add(1_000);
}

async function envelopeOf(tId: number): Promise<{ signature: string; [member: string]: unknown }> {
  return (await world.call(`${api}/lookup/by-tid/${tId}`, { as: "full" })).json();
}

const payloadOf = (jws: string) => JSON.parse(Buffer.from(jws.split(".")[1] ?? "", "base64url").toString());
const headerOf = (jws: string) => JSON.parse(Buffer.from(jws.split(".")[0] ?? "", "base64url").toString());

async function listAt(uri: string): Promise<string> {
  const response = await world.call(new URL(uri).pathname);
  expect(response.status).toBe(200);
  return response.text();
}

async function change(tId: number, action: TeacherAction): Promise<void> {
  const { stores, clock: time, calendar } = world.operator;
  const dependencies = { teachers: stores.teachers, clock: time, calendar, actor: "test" };
  await changeTeacher(dependencies, { by: "tId", value: tId }, { action, reason: "x" });
  clock.add(1_000);
}

const verify = async (envelope: object) => {
  const jwks = await (await world.call(`${api}/.well-known/jwks.json`)).text();
  const keys = await createKeySet({ jwks });
  const options = { keys, issuer: "https://teachers.example", audience: "full", now: new Date(clock.now()) };
  return verifyEnvelope(JSON.stringify(envelope), options);
};

test("the signed part of an envelope names its status list, and the envelope verifies", async () => {
  const envelope = await envelopeOf(knownTeacher.tId);
  expect(payloadOf(envelope.signature).status).toEqual({
    status_list: { idx: expect.any(Number), uri: `https://teachers.example${api}/status/0` },
  });
  expect(Object.keys(envelope)).not.toContain("status");
  expect(await verify(envelope)).toMatchObject({ valid: true });
  const again = await envelopeOf(knownTeacher.tId);
  expect(payloadOf(again.signature).status).toEqual(payloadOf(envelope.signature).status);
});

test("every envelope of a batch about a found teacher names its index in the status list", async () => {
  const purpose = "BODYA_INVIGILATOR_ELIGIBILITY";
  const items = [knownTeacher.tId, 1, legacyTeacher.tId].map((tId) => ({ identifier: { tId }, purpose }));
  const answer = await world.call(`${api}/batch`, { as: "full", body: { items } });
  const { results } = (await answer.json()) as { results: { signature: string }[] };
  const claims = results.map(({ signature }) => payloadOf(signature).status?.status_list.idx);
  expect(claims).toEqual([expect.any(Number), undefined, expect.any(Number)]);
  expect(claims[0]).not.toBe(claims[2]);
});

test("an envelope names no status list if status lists are off", async () => {
  await turn("off");
  expect(payloadOf((await envelopeOf(knownTeacher.tId)).signature)).not.toContainKey("status");
  for (const path of ["status", "status/0"]) expect((await world.call(`${api}/${path}`)).status).toBe(404);
  expect(await (await world.call(`${api}/offline-pack`)).json()).toMatchObject({ statusLists: [] });
});

test("a status list is a public token in the format of the IETF draft, and may be cached for 15 minutes", async () => {
  const response = await world.call(`${api}/status/0`);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "content-type": "application/statuslist+jwt",
    "cache-control": "public, max-age=900",
    "access-control-allow-origin": "*",
    etag: expect.stringMatching(/^".+"$/),
  });
  const jwt = await response.text();
  const { kid } = world.service.configuration.current().keys.active;
  expect(headerOf(jwt)).toEqual({ alg: "RS256", kid, typ: "statuslist+jwt" });
  const iat = Date.parse("2026-03-01T09:30:00Z") / 1000;
  expect(payloadOf(jwt)).toEqual({
    sub: `https://teachers.example${api}/status/0`,
    iat,
    exp: iat + 7 * 86_400,
    ttl: 900,
    status_list: { bits: 1, lst: expect.any(String) },
  });
  expect(getListFromStatusListJWT(jwt).statusList.length).toBe(2 ** 20);
  expect(readStrictJson(JSON.stringify(payloadOf(jwt)))).toBeDefined();
  const headers = { "If-None-Match": response.headers.get("ETag") ?? "" };
  expect((await world.call(`${api}/status/0`, { headers })).status).toBe(304);
});

test("a partner without remaining quota may fetch the status lists and the offline pack", async () => {
  const ask = (path: string) => world.call(api + path, { as: "spent" });
  expect((await ask(`/lookup/by-tid/${knownTeacher.tId}`)).status).toBe(429);
  for (const path of ["/status", "/status/0", "/offline-pack"]) expect((await ask(path)).status).toBe(200);
});

test("the aggregation document names every status list, and a list number that does not exist gets 404", async () => {
  const lists = await (await world.call(`${api}/status`)).json();
  expect(lists).toEqual({ status_lists: [`https://teachers.example${api}/status/0`] });
  for (const number of ["1", "00", "-1", "0x0", "4096", "%30%30", "0?time=1"])
    expect([number, (await world.call(`${api}/status/${number}`)).status]).toEqual([
      number,
      number === "0?time=1" ? 200 : 404,
    ]);
});

test("a status list is signed by the new active key right after a rotation or a compromise", async () => {
  const uri = `https://teachers.example${api}/status/0`;
  const { stores, secrets } = world.operator;
  const kids = [headerOf(await listAt(uri)).kid];
  clock.set("2026-03-01T12:00:00Z");
  const now = clock.now();
  await rotateSigningKeys(stores.keys, secrets, { immediately: true, now, bits: 2048 });
  clock.add(1_000);
  kids.push(headerOf(await listAt(uri)).kid);
  expect(payloadOf(await listAt(uri)).iat).toBe(now / 1000);
  await markKeyCompromised(stores.keys, secrets, { kid: kids[1], since: now, bits: 2048, now: clock.now() });
  clock.add(1_000);
  kids.push(headerOf(await listAt(uri)).kid);
  expect(new Set(kids).size).toBe(3);
  expect(world.service.configuration.current().keys.active.kid).toBe(kids[2]);
});

test("a request for a status list gets 503 if the database does not answer", async () => {
  await listAt(`https://teachers.example${api}/status/0`);
  await world.operator.driver.close();
  clock.add(1_000);
  for (const path of ["status", "status/0", "offline-pack"])
    expect([path, (await world.call(`${api}/${path}`)).status]).toEqual([path, 503]);
});

test("the offline pack has everything that verifies an envelope, and changes only when one of its parts changes", async () => {
  const ask = () => world.call(`${api}/offline-pack`);
  const response = await ask();
  expect(response.headers.get("Cache-Control")).toBe("public, max-age=900");
  const text = await response.text();
  const pack = JSON.parse(text);
  const uri = `https://teachers.example${api}/status/0`;
  const served = async (path: string) => (await world.call(`${api}/.well-known/${path}`)).text();
  expect(pack).toEqual({
    issuer: "https://teachers.example",
    madeAt: "2026-03-01T09:30:01Z",
    jwks: JSON.parse(await served("jwks.json")),
    keyHistory: await served("key-history"),
    statusLists: [await listAt(uri)],
    checkpoint: null,
  });
  clock.add(60_000);
  expect(await (await ask()).text()).toBe(text);
  await change(knownTeacher.tId, "revoke");
  const next = await (await ask()).json();
  expect(next).toMatchObject({ madeAt: "2026-03-01T09:31:02Z", statusLists: [await listAt(uri)] });
  clock.add(900_000);
  expect(await (await ask()).json()).toEqual({ ...next, madeAt: "2026-03-01T09:46:02Z" });
});

test("a status list stays the same on a day without changes, and is signed again each day", async () => {
  const uri = `https://teachers.example${api}/status/0`;
  const first = await listAt(uri);
  clock.set("2026-03-01T23:59:59Z");
  expect(await listAt(uri)).toBe(first);
  clock.set("2026-03-02T00:00:00Z");
  expect(payloadOf(await listAt(uri)).iat).toBe(Date.parse("2026-03-02T00:00:00Z") / 1000);
});

test("every node produces the same bytes of a status list", async () => {
  await change(knownTeacher.tId, "revoke");
  const { config, secrets } = world.operator;
  const other = await openRegister(config, { clock });
  const { settings, partners, keys, statusLists: store } = other.stores;
  const defaults = other.settingsInForce;
  const configuration = await createConfiguration({ settings, partners, keys, secrets, clock, defaults });
  const statusIndexes = createStatusIndexer(secrets.statusListKey);
  const lists = await createStatusListSource({
    configuration,
    store,
    statusIndexes,
    secrets,
    clock,
  }).newest();
  const uri = `https://teachers.example${api}/status/0`;
  expect(lists?.tokens.get(uri)).toBe(await listAt(uri));
  await other.driver.close();
});
