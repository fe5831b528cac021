import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { until } from "../harness/eventually.ts";
import { patienceMs } from "../harness/program.ts";
import type { Envelope } from "./contract.ts";
import { expectGenuine, fetchJwks } from "./jws.ts";
import { createKeyWorld, type KeyWorld, kidOf, type Rotated } from "./key-ring.ts";
import { teachers } from "./registry.ts";
import { readJson } from "./world.ts";

setDefaultTimeout(patienceMs);

let ring: KeyWorld;

beforeAll(async () => {
  ring = await createKeyWorld();
});

afterAll(() => ring?.world.end());

describe("rotation", () => {
  test("is refused while the pending key has been public for less than a day", async () => {
    const before = await ring.list();
    const refused = await ring.world.tvs("keys", "rotate");
    expect(refused.code).toBe(1);
    expect(refused.stderr.trim().split("\n")).toHaveLength(1);
    expect(refused.stderr).toContain("--now");
    expect(await ring.list()).toEqual(before);
  });

  test("with --now warns, promotes, retires and publishes; the retired public half stays", async () => {
    const before = await ring.list();
    const finished = await ring.world.tvs("keys", "rotate", "--now", "--json");
    expect(finished.code).toBe(0);
    expect(finished.stderr).toContain("warning");
    const rotated = finished.json<Rotated>();
    expect(Object.keys(rotated).sort()).toEqual(["activeKid", "pendingKid", "previousKid"]);
    expect(rotated.activeKid).toBe(kidOf(before, "pending"));
    expect(rotated.previousKid).toBe(kidOf(before, "active"));
    expect(before.map(({ kid }) => kid)).not.toContain(rotated.pendingKid);
    const after = await ring.list();
    const retired = after.find(({ kid }) => kid === rotated.previousKid);
    expect(retired?.state).toBe("retired");
    expect(retired?.retiredAt).toBe(
      after.find(({ kid }) => kid === rotated.activeKid)?.activatedAt as string,
    );
    expect(await ring.activeKeyBecomes((kid) => kid === rotated.activeKid)).toBe(true);
    const kids = await ring.servedKids();
    for (const kid of Object.values(rotated)) expect(kids).toContain(kid);
    expect((await ring.envelope()).signatureKid).toBe(rotated.activeKid);
  });

  test("under load, to a larger key too, no check fails, and every envelope's key was public before its answer came", async () => {
    const seen: { envelope: Envelope; before: string[]; after: string[] }[] = [];
    let rotating = true;
    const rounds = Array.from({ length: 3 }, () => 0);
    async function caller(number: number): Promise<void> {
      while (rotating) {
        const before = await ring.servedKids();
        const one = await ring.envelope();
        seen.push({ envelope: one, before, after: await ring.servedKids() });
        rounds[number] = (rounds[number] ?? 0) + 1;
      }
    }
    const callers = Promise.all(rounds.map((_, number) => caller(number)));
    const kids = new Set([await ring.activeKid()]);
    const made: string[] = [];
    // A large key takes its time to make, and the old one signs on until the commit: that has to stay good.
    for (const bits of ["3072", "2048"]) {
      const { activeKid, pendingKid } = await ring.rotateNow("--bits", bits);
      kids.add(activeKid);
      made.push(pendingKid);
      // Who asked before the pending key was published has its answer before that key signs.
      const done = [...rounds];
      await until(() => rounds.every((number, index) => number > (done[index] ?? 0)));
    }
    rotating = false;
    await callers;
    const jwks = await fetchJwks(ring.world);
    const modulus = jwks.keys.find(({ kid }) => kid === made[0])?.n ?? "";
    expect(Buffer.from(modulus, "base64url")).toHaveLength(384);
    for (const { envelope: one, before, after } of seen) {
      expect(before).toContain(one.signatureKid);
      expect(after).toContain(one.signatureKid);
      expectGenuine(one, jwks, ring.partner.id);
    }
    const used = new Set(seen.map(({ envelope: one }) => one.signatureKid));
    expect([...used].every((kid) => kids.has(kid))).toBe(true);
    expect(used.size).toBeGreaterThan(1);
    const offline = await ring.verifyOffline(
      seen.map(({ envelope: one }) => one),
      "history",
    );
    expect(offline.verdicts.filter(({ valid }) => !valid)).toEqual([]);
    expect(offline.code).toBe(0);
  });

  test("envelopes verify offline before a rotation and after it, by key set and by history", async () => {
    const old = await ring.envelope();
    for (const by of ["jwks", "history"] as const) {
      const { code, verdicts } = await ring.verifyOffline([old], by);
      expect([code, verdicts.length, verdicts[0]?.valid]).toEqual([0, 1, true]);
      expect(verdicts[0]?.verificationId).toBe(old.verificationId);
    }
    await ring.rotateNow();
    const fresh = await ring.envelope();
    expect(fresh.signatureKid).not.toBe(old.signatureKid);
    for (const by of ["jwks", "history"] as const) {
      const { code, verdicts } = await ring.verifyOffline([old, fresh], by);
      expect([code, verdicts.map(({ valid }) => valid)]).toEqual([0, [true, true]]);
    }
  });

  test("makes no key of fewer bits than 2048", async () => {
    const before = await ring.list();
    expect((await ring.world.tvs("keys", "rotate", "--now", "--bits", "1024")).code).toBe(2);
    expect(await ring.list()).toEqual(before);
  });

  test("a retired key comes back to life nowhere: a restart signs with the active one", async () => {
    const { activeKid: active } = await ring.rotateNow();
    await ring.world.restart({ kill: true });
    expect(await ring.activeKid()).toBe(active);
    expect((await ring.envelope()).signatureKid).toBe(active);
  });
});

describe("compromise", () => {
  test("of the active key: the pending one takes over, the key set forgets it, the history names it", async () => {
    const before = await ring.list();
    const [active, pending] = [kidOf(before, "active"), kidOf(before, "pending")];
    const stolen = await ring.envelope();
    expect(stolen.signatureKid).toBe(active);
    const since = new Date(Date.now() - 5_000).toISOString();
    expect((await ring.world.tvs("keys", "compromise", active, "--since", since)).code).toBe(0);
    expect(await ring.activeKeyBecomes((kid) => kid === pending)).toBe(true);
    const kids = await ring.servedKids();
    expect(kids).not.toContain(active);
    expect(kids).toContain(pending);
    expect((await ring.envelope()).signatureKid).toBe(pending);
    const after = await ring.list();
    expect(after.filter(({ state }) => state === "pending")).toHaveLength(1);
    const flagged = (await ring.readHistory(await ring.fetchHistory())).keys.find(
      ({ kid }) => kid === active,
    );
    expect(flagged).toMatchObject({ state: "compromised", compromisedSince: since });
    const { code, verdicts } = await ring.verifyOffline([stolen, await ring.envelope()], "history");
    expect(code).toBe(1);
    expect(verdicts.map(({ valid }) => valid)).toEqual([false, true]);
    expect(verdicts[0]?.reason.toLowerCase()).toContain("compromised");
  });

  test("a key's stored answers are not handed out again: the same call runs anew", async () => {
    const purpose = "EMPLOYER_BACKGROUND_CHECK";
    const question = { identifier: { regNo: teachers.valid.reg_no }, purpose };
    type Answer = Envelope | { results: [Envelope] };
    async function send(path: string, body: unknown) {
      const response = await ring.partner.post(path, body, { "Idempotency-Key": "before-the-theft" });
      expect(response.status).toBe(200);
      const answer = await readJson<Answer>(response);
      const { signatureKid: kid } = "results" in answer ? answer.results[0] : answer;
      return { kid, replayed: response.headers.get("Idempotent-Replayed") };
    }
    const calls: readonly (readonly [string, unknown])[] = [
      ["/eligibility-check", question],
      ["/batch", { items: [question] }],
    ];
    const active = await ring.activeKid();
    for (const call of calls) expect(await send(...call)).toEqual({ kid: active, replayed: null });
    for (const call of calls) expect(await send(...call)).toEqual({ kid: active, replayed: "true" });
    const since = new Date(Date.now() - 60_000).toISOString();
    expect((await ring.world.tvs("keys", "compromise", active, "--since", since)).code).toBe(0);
    expect(await ring.activeKeyBecomes((kid) => kid !== active)).toBe(true);
    const next = await ring.activeKid();
    for (const call of calls) expect(await send(...call)).toEqual({ kid: next, replayed: null });
    for (const call of calls) expect(await send(...call)).toEqual({ kid: next, replayed: "true" });
  });

  test("since later than an envelope was signed leaves that envelope good", async () => {
    const old = await ring.envelope();
    // `since` has to be after the envelope's second and not in the future.
    const nextSecond = (Math.floor(Date.parse(old.verifiedAt) / 1_000) + 1) * 1_000;
    await until(() => Date.now() > nextSecond);
    const since = new Date().toISOString();
    expect((await ring.world.tvs("keys", "compromise", old.signatureKid, "--since", since)).code).toBe(0);
    expect(await ring.activeKeyBecomes((kid) => kid !== old.signatureKid)).toBe(true);
    const { code, verdicts } = await ring.verifyOffline([old], "history");
    expect([code, verdicts[0]?.valid]).toEqual([0, true]);
  });

  test.each<[string, string[], number]>([
    ["a time in the future", ["ACTIVE", "--since", "2999-01-01T00:00:00Z"], 1],
    ["no time", ["ACTIVE"], 2],
  ])("%s is refused", async (_name, words, code) => {
    const before = await ring.list();
    const named = words.map((word) => (word === "ACTIVE" ? kidOf(before, "active") : word));
    const refused = await ring.world.tvs("keys", "compromise", ...named);
    expect(refused.code).toBe(code);
    expect(refused.stderr.trim().split("\n")).toHaveLength(1);
    expect(await ring.list()).toEqual(before);
  });
});
