import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createLocalJWKSet, jwtVerify } from "jose";
import type { AttestationStore } from "../../src/domain/attestations.ts";
import { createBlindIndex } from "../../src/domain/blind-index.ts";
import { createCalendar } from "../../src/domain/clock.ts";
import type { Signer } from "../../src/domain/envelopes.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { createIdempotency } from "../../src/domain/idempotency.ts";
import { createLive } from "../../src/domain/live.ts";
import type { Partner } from "../../src/domain/partners.ts";
import { defaultPolicy } from "../../src/domain/policy.ts";
import { createQuota, QuotaExceeded } from "../../src/domain/quota.ts";
import { planWrite } from "../../src/domain/teacher-store.ts";
import type { TeacherContent, TeacherReader } from "../../src/domain/teachers.ts";
import { type Answer, createVerification, type Question } from "../../src/domain/verification.ts";

import { createWebCryptoSigner } from "../../src/signing/webcrypto.ts";
import { aClock } from "../harness/clock.ts";
import { fillRing, fixtureKey } from "../harness/keys.ts";
import { rejection } from "../harness/rejection.ts";
import { aPartner, aTeacher, secrets } from "../harness/samples.ts";
import { type TestStores, withStores } from "../harness/store.ts";

const start = "2026-03-01T09:30:00.250Z";
const iat = Date.parse("2026-03-01T09:30:00Z") / 1000;
const regNo = "LA/2019/PRI/04417";
const nin = "12345678901";
const purpose = "EMPLOYER_BACKGROUND_CHECK";
const blindIndex = createBlindIndex(secrets.blindIndexKey);
const ask = (identifier: Question["identifier"], context?: object): Question => ({
  identifier,
  purpose,
  context,
});

type World = Awaited<ReturnType<typeof open>>;
type Around = {
  attestations?(real: AttestationStore, stores: TestStores): AttestationStore;
  teachers?(real: TeacherReader): TeacherReader;
  signer?(real: Signer): Signer;
  partner?: Partial<Partner>;
};

/** The real composition over a real store; a test may stand between two of its parts. */
function withVerification(act: (world: World) => Promise<void>, around: Around = {}): Promise<void> {
  return withStores(async (stores) => act(await open(stores, around)));
}

async function open(stores: TestStores, around: Around) {
  const clock = aClock(start);
  const ring = await fillRing(stores.keys, clock.now());
  const signer = createWebCryptoSigner(secrets);
  const defaults = {
    issuer: "https://teachers.example",
    timeZone: "Africa/Lagos",
    policy: defaultPolicy,
    allowPrivateWebhooks: false,
  };
  const live = await createLive({ ...stores, secrets, clock, defaults, onKeys: (keys) => signer.load(keys) });
  await enrol(stores, { tId: 204_417, ninIndex: blindIndex.nin(nin) });
  const { attestations, teachers } = stores;
  const verification = createVerification({
    live,
    teachers: around.teachers?.(teachers) ?? teachers,
    attestations: around.attestations?.(attestations, stores) ?? attestations,
    idempotency: createIdempotency(stores.idempotencyStore, secrets, clock),
    blindIndex,
    signer: around.signer?.(signer) ?? signer,
    clock,
  });
  const partner = { ...aPartner("agency"), ...around.partner };
  const quota = createQuota({ clock, store: stores.quotaStore, stored: [] });

  function caller() {
    const call = quota.open(partner);
    return { partner, credential: "KeyId0000000", requestId: "request-1", quota: call };
  }
  const one = (question: Question, idempotency?: { key: string; body: unknown }) =>
    verification.answer(caller(), "eligibility-check", { question, idempotency });
  const batch = (questions: Question[], idempotency?: { key: string; body: unknown }) =>
    verification.answerBatch(caller(), { questions, idempotency });
  const stored = () => attestations.list({ limit: 1000 });
  return { ...stores, ...ring, clock, live, one, batch, stored, quotaState: () => quota.state(partner) };
}

async function enrol({ teachers }: TestStores, changes: Partial<TeacherContent>): Promise<void> {
  const change = {
    action: "import",
    actor: "test",
    calendar: createCalendar("Africa/Lagos"),
    at: Date.parse(start),
  } as const;
  await teachers.apply([planWrite(null, aTeacher(changes.regNo ?? regNo, changes), change)]);
}

/** Checks an envelope as a partner does, and gives back what was signed. */
async function verified(world: World, envelope: { signature: string; audience: string; issuer: string }) {
  const keys = createLocalJWKSet(JSON.parse((await world.live.refresh()).jwks));
  const currentDate = new Date(world.clock.now());
  return jwtVerify(envelope.signature, keys, {
    issuer: envelope.issuer,
    audience: envelope.audience,
    currentDate,
  });
}

describe("one question", () => {
  test("is answered with an envelope that the published key verifies", () =>
    withVerification(async (world) => {
      const { body, headers, replayed } = await world.one(ask({ regNo }));
      const envelope = JSON.parse(body);
      const { payload, protectedHeader } = await verified(world, envelope);
      expect(replayed).toBe(false);
      expect(headers).toEqual({
        "X-Verification-Id": envelope.verificationId,
        "X-Signature-Kid": world.active.kid,
      });
      expect(payload).toMatchObject({
        iss: "https://teachers.example",
        aud: "agency",
        sub: envelope.verificationId,
        iat,
      });
      expect(payload.result).toEqual(envelope.result);
      expect(protectedHeader.kid).toBe(world.active.kid);
      expect(envelope).toMatchObject({ verifiedAt: "2026-03-01T09:30:00Z", signatureKid: world.active.kid });
      expect(envelope.result).toMatchObject({ found: true, eligible: true, teacher: { tId: 204_417 } });
    }));

  test("leaves its evidence, the exact signature included", () =>
    withVerification(async (world) => {
      const envelope = JSON.parse((await world.one(ask({ regNo }, { examBatch: "2026/1" }))).body);
      expect(await world.stored()).toEqual([
        {
          verificationId: envelope.verificationId,
          partnerId: "agency",
          issuedAt: iat,
          kid: world.active.kid,
          endpoint: "eligibility-check",
          purpose,
          policyVersion: defaultPolicy.version,
          teacherId: 1,
          reference: `regNo:${regNo}`,
          ninIndex: null,
          status: "VALID",
          eligible: true,
          context: '{"examBatch":"2026/1"}',
          credential: "KeyId0000000",
          requestId: "request-1",
          jws: envelope.signature,
        },
      ]);
    }));

  test("is charged in the same commit: nothing is answered that was not counted", () =>
    withVerification(async (world) => {
      await world.one(ask({ tId: 204_417 }));
      const windows = (await world.quotaStore.windows()).map(({ kind, used }) => `${kind} ${used}`).sort();
      expect(windows).toEqual(["day 1", "minute 1"]);
    }));

  test("about nobody is signed as well, once the register was asked", () =>
    withVerification(async (world) => {
      const envelope = JSON.parse((await world.one(ask({ tId: 1 }))).body);
      expect((await verified(world, envelope)).payload.result).toMatchObject({
        found: false,
        reasons: ["TEACHER_NOT_FOUND"],
      });
      const [row] = await world.stored();
      expect(row).toMatchObject({
        teacherId: null,
        reference: "tId:1",
        status: "NOT_FOUND",
        eligible: false,
      });
    }));

  test("is judged on the day that it is in the service's time zone", () =>
    withVerification(async (world) => {
      await enrol(world, { regNo: "A/1/B/1", licenseExpiryDate: "2026-03-31" });
      const status = async () => JSON.parse((await world.one(ask({ regNo: "A/1/B/1" }))).body).result.status;
      world.clock.set("2026-03-31T22:59:59.999Z");
      expect(await status()).toBe("VALID");
      world.clock.add(1);
      expect(await status()).toBe("EXPIRED");
    }));
});

describe("personal data", () => {
  const personal = [nin, "+2348031234567", "0803 123 4567", "(0803) 123-4567", "ada@example.com"];

  test("is in no file of the database, whatever the question and its context held", () =>
    withVerification(async (world) => {
      const context = {
        examBatch: `for ${personal[0]}`,
        employerName: personal.slice(1).join("; "),
        correlationId: "order-7",
      };
      await world.one(ask({ nin }, context), { key: `key of ${nin}`, body: { nin, context } });
      const [row] = await world.stored();
      expect(row).toMatchObject({ reference: "nin", ninIndex: blindIndex.nin(nin), teacherId: 1 });
      expect(JSON.parse(row?.context ?? "")).toEqual({
        examBatch: "for [removed]",
        employerName: "[removed]; [removed]; [removed]; [removed]",
        correlationId: "order-7",
      });
      const files = readdirSync(world.folder).map((name) => readFileSync(join(world.folder, name), "latin1"));
      expect(files.length).toBeGreaterThan(0);
      for (const text of personal) for (const file of files) expect(file.includes(text)).toBe(false);
    }));

  test("is looked for only in what could be it: references of a partner stay as they are", () =>
    withVerification(async (world) => {
      const references = [
        "2026/0001",
        "2026-01-31 12:30",
        "EX-2026-000417",
        "0198f3c2-7a10-7e55-9c3d-1b2a3f4e5d6c",
        "room 12, seat 7",
      ];
      await world.one(ask({ regNo }, { correlationId: references.join(" | ") }));
      expect(JSON.parse((await world.stored())[0]?.context ?? "").correlationId).toBe(references.join(" | "));
    }));

  /** A text without an `@` took a quarter of a minute once, and the whole service stood still for it. */
  test("is looked for in time that grows with the text and not with its square", () =>
    withVerification(async (world) => {
      for (const text of [
        "a".repeat(250_000),
        `${"(1-".repeat(80_000)}x`,
        "1-".repeat(120_000),
        "a@".repeat(120_000),
      ]) {
        await world.one(ask({ regNo }, { correlationId: text }));
      }
      expect(await world.stored()).toHaveLength(4);
    }));
});

describe("a rotation between signing and committing", () => {
  /** Rotates before the first `times` commits. */
  function rotating(times: number, calls: { kid: string; stored: boolean }[]): Around {
    const next = ["stranger", "retired", "compromised"] as const;
    return {
      attestations: (real, { keys }) => ({
        ...real,
        async record(call) {
          const name = next[calls.length];
          if (calls.length < times && name !== undefined) await rotate(keys, name);
          const stored = await real.record(call);
          calls.push({ kid: call.kid, stored });
          return stored;
        },
      }),
    };
  }

  async function rotate(keys: TestStores["keys"], name: Parameters<typeof fixtureKey>[0]) {
    const ring = await keys.list();
    const kidOf = (state: string) => ring.find((key) => key.state === state)?.kid ?? "";
    const at = Date.parse(start);
    await keys.rotate({
      active: kidOf("active"),
      pending: kidOf("pending"),
      next: await fixtureKey(name, at),
      at,
    });
  }

  test("makes the answer be signed again with the new key, and stored once", async () => {
    const calls: { kid: string; stored: boolean }[] = [];
    await withVerification(
      async (world) => {
        const body = { asked: 1 };
        const answer = await world.one(ask({ regNo }), { key: "k", body });
        expect(calls).toEqual([
          { kid: world.active.kid, stored: false },
          { kid: world.pending.kid, stored: true },
        ]);
        const envelope = JSON.parse(answer.body);
        expect(envelope.signatureKid).toBe(world.pending.kid);
        expect(answer.headers["X-Signature-Kid"]).toBe(world.pending.kid);
        expect((await verified(world, envelope)).protectedHeader.kid).toBe(world.pending.kid);
        const rows = await world.stored();
        expect(rows.map((row) => [row.kid, row.jws])).toEqual([[world.pending.kid, envelope.signature]]);
        expect((await world.quotaStore.windows()).map((one) => one.used)).toEqual([1, 1]);
        expect(await world.one(ask({ regNo }), { key: "k", body })).toEqual({ ...answer, replayed: true });
      },
      rotating(1, calls),
    );
  });

  test("that takes the old key from the signer first is no failure either", async () => {
    let rotated = false;
    let keys: TestStores["keys"] | undefined;
    await withVerification(
      async (world) => {
        keys = world.keys;
        const envelope = JSON.parse((await world.one(ask({ regNo }))).body);
        expect(envelope.signatureKid).toBe(world.pending.kid);
        expect(await world.stored()).toHaveLength(1);
      },
      {
        signer: (real) => ({
          async sign(kid, input) {
            if (rotated || keys === undefined) return real.sign(kid, input);
            rotated = true;
            await rotate(keys, "stranger");
            throw new TvsError("SIGNER_UNAVAILABLE", "the signing key is not loaded; try again");
          },
        }),
      },
    );
  });

  test("signs a whole batch again", async () => {
    await withVerification(
      async (world) => {
        const { results } = JSON.parse((await world.batch([ask({ regNo }), ask({ tId: 1 })])).body);
        expect(results.map((one: { signatureKid: string }) => one.signatureKid)).toEqual([
          world.pending.kid,
          world.pending.kid,
        ]);
        expect(await world.stored()).toHaveLength(2);
      },
      rotating(1, []),
    );
  });

  test("again and again is a failure that stores nothing", async () => {
    await withVerification(
      async (world) => {
        expect(await rejection(world.one(ask({ regNo }), { key: "k", body: 1 }))).toMatchObject({
          code: "SIGNER_UNAVAILABLE",
        });
        expect(await world.stored()).toEqual([]);
        expect(await world.quotaStore.windows()).toEqual([]);
        expect(await world.driver.query("SELECT 1 FROM idempotency")).toEqual([]);
      },
      rotating(3, []),
    );
  });
});

describe("a failure is never an answer", () => {
  const away = () => Promise.reject(new Error("away"));
  const signed: string[] = [];
  const watched: Around["signer"] = (real) => ({
    sign(kid, input) {
      signed.push(input);
      return real.sign(kid, input);
    },
  });

  test("a look-up that fails signs nothing and stores nothing", async () => {
    signed.length = 0;
    await withVerification(
      async (world) => {
        for (const identifier of [{ regNo }, { tId: 204_417 }, { nin }]) {
          expect(await rejection(world.one(ask(identifier), { key: "k", body: 1 }))).toMatchObject({
            message: "away",
          });
        }
        expect(signed).toEqual([]);
        expect(await world.stored()).toEqual([]);
        expect(await world.driver.query("SELECT 1 FROM idempotency")).toEqual([]);
      },
      { teachers: () => ({ find: away, findEach: away }), signer: watched },
    );
  });

  test("a signer that fails stores nothing", () =>
    withVerification(
      async (world) => {
        expect(await rejection(world.one(ask({ regNo })))).toMatchObject({ message: "away" });
        expect(await world.stored()).toEqual([]);
        expect(await world.quotaStore.windows()).toEqual([]);
      },
      { signer: () => ({ sign: away }) },
    ));

  test("a commit that fails answers nothing, and the same key may try again", async () => {
    let failures = 1;
    await withVerification(
      async (world) => {
        expect(await rejection(world.one(ask({ regNo }), { key: "k", body: 1 }))).toMatchObject({
          message: "away",
        });
        const answer = await world.one(ask({ regNo }), { key: "k", body: 1 });
        expect(answer.replayed).toBe(false);
        expect(await world.stored()).toHaveLength(1);
      },
      {
        attestations: (real) => ({
          ...real,
          record: (call) => (failures-- > 0 ? away() : real.record(call)),
        }),
      },
    );
  });

  test("one failing item fails the whole batch", async () => {
    await withVerification(
      async (world) => {
        const questions = Array.from({ length: 20 }, (_, i) => ask({ tId: i }));
        expect(await rejection(world.batch(questions))).toMatchObject({ message: "away" });
        expect(await world.stored()).toEqual([]);
        expect(await world.quotaStore.windows()).toEqual([]);
      },
      { teachers: (real) => ({ ...real, findEach: away }) },
    );
  });
});

describe("a batch", () => {
  test("has an envelope for each item, in their order, in one commit", async () => {
    let commits = 0;
    await withVerification(
      async (world) => {
        const tIds = Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? 204_417 : i));
        const { count, results } = JSON.parse((await world.batch(tIds.map((tId) => ask({ tId })))).body);
        expect(count).toBe(100);
        expect(results.map((one: { result: { found: boolean } }) => one.result.found)).toEqual(
          tIds.map((tId) => tId === 204_417),
        );
        expect(new Set(results.map((one: { verificationId: string }) => one.verificationId)).size).toBe(100);
        for (const envelope of results.slice(0, 3)) await verified(world, envelope);
        const rows = await world.stored();
        expect(rows.map((row) => row.reference).reverse()).toEqual(tIds.map((tId) => `tId:${tId}`));
        expect(rows.every((row) => row.endpoint === "batch")).toBe(true);
        expect(commits).toBe(1);
      },
      {
        attestations: (real) => ({
          ...real,
          record(call) {
            commits++;
            return real.record(call);
          },
        }),
      },
    );
  });

  test("is one call, or one a item where that was agreed", async () => {
    const questions = [ask({ regNo }), ask({ tId: 1 }), ask({ tId: 2 })];
    const used = async (world: World) => {
      await world.batch(questions);
      return (await world.quotaStore.windows()).map((one) => one.used);
    };
    await withVerification(async (world) => expect(await used(world)).toEqual([1, 1]));
    await withVerification(async (world) => expect(await used(world)).toEqual([3, 3]), {
      partner: { batchCost: "item" },
    });
  });

  test("that costs more than is left looks nobody up", async () => {
    let looked = 0;
    await withVerification(
      async (world) => {
        const refusal = await rejection(world.batch(Array.from({ length: 11 }, (_, i) => ask({ tId: i }))));
        expect(refusal).toBeInstanceOf(QuotaExceeded);
        expect(refusal).toMatchObject({
          code: "QUOTA_EXCEEDED",
          refusal: { window: "minute", limit: 10, remaining: 9 },
        });
        expect(looked).toBe(0);
      },
      {
        partner: { batchCost: "item" },
        teachers: (real) => ({
          ...real,
          findEach(keys) {
            looked++;
            return real.findEach(keys);
          },
        }),
      },
    );
  });
});

describe("a retry", () => {
  const same = ({ body, headers }: Answer) => ({ body, headers });

  test("is the first answer byte for byte, costs no day token and leaves no second evidence", () =>
    withVerification(async (world) => {
      const first = await world.one(ask({ regNo }), { key: "k", body: { b: 1, a: 2 } });
      world.clock.add(61_000);
      const again = await world.one(ask({ regNo }), { key: "k", body: { a: 2, b: 1 } });
      expect(again).toEqual({ ...same(first), replayed: true });
      expect(await world.stored()).toHaveLength(1);
      expect((await world.quotaStore.windows()).find((one) => one.kind === "day")?.used).toBe(1);
    }));

  test("is answered when the day is spent, while new work is refused", () =>
    withVerification(
      async (world) => {
        const first = await world.batch([ask({ regNo })], { key: "k", body: 1 });
        expect(world.quotaState().remaining).toBe(0);
        expect(await world.batch([ask({ regNo })], { key: "k", body: 1 })).toEqual({
          ...same(first),
          replayed: true,
        });
        const refusal = await rejection(world.batch([ask({ regNo })], { key: "new", body: 1 }));
        expect(refusal).toMatchObject({ code: "QUOTA_EXCEEDED", refusal: { window: "day" } });
        expect(String(refusal)).toMatch(/per-day quota exceeded; retry after \d+ s$/);
      },
      { partner: { perDay: 1 } },
    ));

  test("after a refusal by quota runs when there is quota again", () =>
    withVerification(
      async (world) => {
        await world.one(ask({ regNo }));
        const again = () => world.one(ask({ regNo }), { key: "k", body: 1 });
        expect(await rejection(again())).toBeInstanceOf(QuotaExceeded);
        world.clock.set("2026-03-02T00:00:00Z");
        expect((await again()).replayed).toBe(false);
      },
      { partner: { perDay: 1 } },
    ));

  test("at the same time as the first runs the work once", () =>
    withVerification(async (world) => {
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => world.one(ask({ regNo }), { key: "k", body: 1 })),
      );
      expect(new Set(answers.map((one) => one.body)).size).toBe(1);
      expect(answers.filter((one) => !one.replayed)).toHaveLength(1);
      expect(await world.stored()).toHaveLength(1);
    }));
});
