import { beforeAll, expect, test } from "bun:test";
import { waitForAnswer } from "../harness/eventually.ts";
import type { Envelope } from "./contract.ts";
import { teachers } from "./registry.ts";
import { type Partner, sharedWorld } from "./world.ts";

const world = sharedWorld();
let partner: Partner;
let keys = 0;

beforeAll(async () => {
  partner = await world.partner();
});

const purpose = "EMPLOYER_BACKGROUND_CHECK";
const question = { identifier: { regNo: teachers.valid.reg_no }, purpose };
const otherQuestion = { identifier: { regNo: teachers.expired.reg_no }, purpose };
const freshKey = () => `key-${++keys}`;

type Sent = { status: number; text: string; replayed: string | null; headers: Headers };

async function send(path: string, body: unknown, key: string, by: Partner = partner): Promise<Sent> {
  const response = await by.post(path, body, { "Idempotency-Key": key });
  const { status, headers } = response;
  return { status, headers, replayed: headers.get("Idempotent-Replayed"), text: await response.text() };
}

const check = (body: unknown, key: string, by?: Partner) => send("/eligibility-check", body, key, by);

async function attestedBy(caller: Partner): Promise<number> {
  const words = ["attestations", "list", "--partner", caller.id, "--limit", "1000"];
  return (await world.tvsJson<unknown[]>(...words)).length;
}

function expectReplay(replay: Sent, original: Sent): void {
  expect(replay.status).toBe(200);
  expect(replay.replayed).toBe("true");
  expect(replay.text).toBe(original.text);
  for (const name of ["X-Verification-Id", "X-Signature-Kid", "Content-Type", "Cache-Control"]) {
    expect(replay.headers.get(name)).toBe(original.headers.get(name));
  }
  for (const name of ["Limit", "Remaining", "Reset"])
    expect(replay.headers.get(`X-RateLimit-${name}`)).toMatch(/^\d+$/);
}

test("twenty simultaneous copies of a batch with one idempotency key run the batch once", async () => {
  const caller = await world.partner({ perDay: 1, scopes: "eligibility,batch" });
  const key = freshKey();
  const items = Array.from({ length: 50 }, () => question);
  // A duplicate that waits longer than two seconds, as on a busy machine, gets 409 and is sent again.
  const answer = () =>
    waitForAnswer(
      () => send("/batch", { items }, key, caller),
      ({ status }) => status !== 409,
    );
  const answers = await Promise.all(Array.from({ length: 20 }, answer));
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  expect(await attestedBy(caller)).toBe(50);
});

test("a replay after kill -9 has the bytes of the first answer, even after a change of the record and of the signing key", async () => {
  const row = { ...teachers.valid, reg_no: "ED/PT/2021/00001", t_id: "", nin: "", email: "", phone: "" };
  await world.importRows([row]);
  const ofRecord = { identifier: { regNo: row.reg_no }, purpose };
  const [key, batchKey] = [freshKey(), freshKey()];
  const original = await check(ofRecord, key);
  const batch = await send("/batch", { items: [question] }, batchKey);
  expect(original.replayed).toBeNull();
  const { result, signatureKid } = JSON.parse(original.text) as Envelope;
  expect(result.status).toBe("VALID");
  await world.importRows([{ ...row, active: "false" }]);
  expect((await world.tvs("keys", "rotate", "--now")).code).toBe(0);
  await world.restart({ kill: true });
  const replay = await check(ofRecord, key);
  expectReplay(replay, original);
  expect(replay.headers.get("X-Request-Id")).not.toBe(original.headers.get("X-Request-Id"));
  expectReplay(await send("/batch", { items: [question] }, batchKey), batch);
  expect((await check(otherQuestion, key)).status).toBe(422);
  const anew = JSON.parse((await check(ofRecord, freshKey())).text) as Envelope;
  expect(anew.result.reasons).toEqual(["TEACHER_DEACTIVATED"]);
  expect(anew.signatureKid).not.toBe(signatureKid);
});
