import { Buffer } from "node:buffer";
import { eligibilityResult } from "../../src/domain/eligibility.ts";
import type { SigningKey } from "../../src/domain/keys.ts";
import { type Partner, scopes } from "../../src/domain/partners.ts";
import { defaultPolicy, type Policy } from "../../src/domain/policy.ts";
import { planWrite } from "../../src/domain/teachers/store.ts";
import type { StoredTeacher } from "../../src/domain/teachers/teachers.ts";
import type { EligibilityResult, Purpose } from "../../src/partner/contract.ts";
import type { Driver, Statement } from "../../src/store/driver/driver.ts";
import { createKeyStore } from "../../src/store/keys.ts";
import { createPartnerStore } from "../../src/store/partners.ts";
import { createSettingsStore } from "../../src/store/settings.ts";
import { createTeacherStore } from "../../src/store/teachers.ts";
import { lagos, type TestClock } from "../harness/clock.ts";
import { aPartner, aStoredTeacher, aTeacher } from "../harness/samples.ts";
import { blindIndex } from "./servers.ts";

/** Whom callers ask about: the first four are in the register from the beginning, the others may come. */
export const personCount = 6;
const knownFromTheBeginning = 4;

export const purposes: readonly Purpose[] = ["SCHOOL_EMPLOYMENT_VERIFICATION", "EMPLOYER_BACKGROUND_CHECK"];
export const refusedPurpose: Purpose = "BODYC_CBT_STAFF_VERIFICATION";

export type Question = {
  readonly identifier: { regNo: string } | { tId: number } | { nin: string };
  readonly purpose: Purpose;
};

/** What the register, its partners and its settings are just now, as they were committed. */
export type Model = {
  readonly teachers: Map<number, Partial<StoredTeacher>>;
  readonly partners: Map<string, Partner>;
  readonly revokedKeys: Set<string>;
  /** When the partner or the key was shut out last, in steps; absent while it is let in. */
  readonly shutOutSince: Map<string, number>;
  readonly compromisedAt: Map<string, number>;
  policy: Policy;
  activeKid: string;
  pendingKid: string;
};

export function person(seed: number, n: number) {
  return {
    regNo: `S/${seed}/A/${n}`,
    tId: seed * 100 + n,
    nin: String(10_000_000_000 + seed * 100 + n),
  };
}

/** What must be signed about a question while the model is as it is. */
export function expectedResult(
  model: Model,
  { identifier, purpose }: Question,
  asked: { seed: number; clock: TestClock },
): EligibilityResult {
  const n = Array.from({ length: personCount }, (_, index) => index + 1).find((index) => {
    const { regNo, tId, nin } = person(asked.seed, index);
    if ("regNo" in identifier) return identifier.regNo === regNo;
    return "tId" in identifier ? identifier.tId === tId : identifier.nin === nin;
  });
  const changes = n === undefined ? undefined : model.teachers.get(n);
  const teacher = changes === undefined ? null : aStoredTeacher(changes);
  const today = lagos.dateAt(asked.clock.now());
  return eligibilityResult(teacher, { purpose, policy: model.policy, today });
}

export function signedResult(jws: string): unknown {
  return JSON.parse(Buffer.from(jws.split(".")[1] ?? "", "base64url").toString()).result;
}

/** The operator: each act is committed whole before anything else runs, and the model follows it. */
export async function createOperator(
  driver: Driver,
  { seed, clock, keys }: { seed: number; clock: TestClock; keys: readonly SigningKey[] },
) {
  const teachers = createTeacherStore(driver);
  const partners = createPartnerStore(driver);
  const settings = createSettingsStore(driver);
  const keyStore = createKeyStore(driver);
  const [active, pending, ...spare] = keys as [SigningKey, SigningKey, ...SigningKey[]];
  const model: Model = {
    teachers: new Map(),
    partners: new Map(),
    revokedKeys: new Set(),
    shutOutSince: new Map(),
    compromisedAt: new Map(),
    policy: { ...defaultPolicy, version: `${seed}-0` },
    activeKid: active.kid,
    pendingKid: pending.kid,
  };
  let versions = 0;

  async function put(n: number, changes: Partial<StoredTeacher>): Promise<void> {
    const { regNo, tId, nin } = person(seed, n);
    const all = { ...model.teachers.get(n), ...changes, regNo, tId, ninIndex: blindIndex.nin(nin) };
    const before = await teachers.findStored({ by: "regNo", value: regNo });
    const at = clock.now();
    const content = { ...aTeacher(regNo), ...(before ?? {}), ...all };
    const write = planWrite(before, content, { action: "import", actor: "test", calendar: lagos, at });
    const [applied] = await teachers.apply([write]);
    if (applied !== true) throw new Error("the operator's change was not applied");
    model.teachers.set(n, all);
  }

  async function setPolicy(): Promise<void> {
    const certificate = ["VERIFIED" as const, ...(++versions % 2 === 0 ? [] : ["CLAIMED" as const])];
    const rule = { certificate, sources: ["new_system" as const], categories: [], minDaysRemaining: 0 };
    const rules = Object.fromEntries(purposes.map((purpose) => [purpose, rule]));
    model.policy = { version: `${seed}-${versions}`, purposes: rules };
    await settings.write({ policy: JSON.stringify(model.policy) });
  }

  async function setPartner(partnerId: string, change: Partial<Partner>): Promise<void> {
    model.partners.set(partnerId, await partners.update({ partnerId, ...change }));
  }

  /** @returns whether there was a key left to rotate to */
  async function rotate(step: number, isCompromise: boolean): Promise<boolean> {
    const next = spare.shift();
    if (next === undefined) return false;
    const at = clock.now();
    const { activeKid: kid, pendingKid } = model;
    if (isCompromise) {
      await keyStore.compromise({ kid, since: at, at, next });
      model.compromisedAt.set(kid, step);
    } else await keyStore.rotate({ active: kid, pending: pendingKid, next, at });
    model.activeKid = pendingKid;
    model.pendingKid = next.kid;
    return true;
  }

  const forget: Statement = { sql: "DELETE FROM signing_keys", args: [] };
  await driver.batch([forget]);
  await keyStore.create({ ...active, state: "active", activatedAt: clock.now() }, pending);
  for (let n = 1; n <= knownFromTheBeginning; n++) await put(n, { certificateStatus: "VERIFIED" });
  await setPolicy();

  return {
    model,
    put,
    setPolicy,
    setPartner,
    rotate,
    async addPartner(
      partnerId: string,
      terms: Partial<Partner>,
      apiKeys: Parameters<typeof partners.add>[1][],
    ) {
      const partner = { ...aPartner(partnerId), scopes, purposes, ...terms };
      const [first, ...further] = apiKeys;
      if (first === undefined) throw new Error("a partner has a key");
      await partners.add(partner, first);
      for (const key of further) await partners.addKey(key, { shortened: null, maxLive: 2 });
      model.partners.set(partnerId, partner);
    },
    async disable(partnerId: string, step: number) {
      model.partners.set(partnerId, await partners.disable(partnerId, clock.now()));
      model.shutOutSince.set(partnerId, step);
    },
    async enable(partnerId: string) {
      model.partners.set(partnerId, await partners.disable(partnerId, null));
      model.shutOutSince.delete(partnerId);
    },
    async revokeKey(keyId: string, step: number) {
      await partners.revokeKey(keyId, clock.now());
      model.revokedKeys.add(keyId);
      model.shutOutSince.set(keyId, step);
    },
  };
}

export type TestOperator = Awaited<ReturnType<typeof createOperator>>;
