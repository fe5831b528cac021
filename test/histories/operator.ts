/** An operator who changes every precondition of answers, by the store functions that commands use. */
import { createStores } from "../../cli/open.ts";
import { mintApiKey } from "../../src/domain/credentials.ts";
import { isTvsError } from "../../src/domain/errors.ts";
import type { SigningKey } from "../../src/domain/keys.ts";
import { scopes } from "../../src/domain/partners.ts";
import type { Secrets } from "../../src/domain/secrets.ts";
import { planTeacherWrite } from "../../src/domain/teachers/store.ts";
import type { Driver } from "../../src/store/driver/driver.ts";
import { lagos } from "../harness/clock.ts";
import { aPartner, aTeacher } from "../harness/samples.ts";
import type { LogCall } from "./event-log.ts";
import type { RecordedCall } from "./linearizability.ts";
import { type PartnerHistory, purpose, type Ticks } from "./part.ts";
import type { OperatorChange, PartnerState, TeacherState } from "./partner-model.ts";

type Random = (below: number) => number;
type Around = {
  readonly random: Random;
  readonly secrets: Secrets;
  readonly now: () => number;
  readonly tick: Ticks;
  /** The approximate number of calls of each partner. Its quotas are near this number. */
  readonly calls: number;
  /** Called before the repetition of a change whose reply from the server was lost. */
  readonly onSilence?: () => Promise<void>;
  /** Returns the next signing key, or undefined if no key is to be rotated. */
  readonly nextKey: () => Promise<SigningKey | undefined>;
};

const teachersEach = 5;
/** The number of teachers that are in the register from the beginning. */
const knownAtFirst = 3;

export type CommandContext = ReturnType<typeof createContext>;
export function createContext(database: Driver, { random, secrets, now, tick, calls, ...around }: Around) {
  /** Repeats an idempotent change until the server answers. In the history this is one change that took long. */
  async function surely<T>(run: (isAgain: boolean) => Promise<T>): Promise<T> {
    for (let isAgain = false; ; isAgain = true)
      try {
        return await run(isAgain);
      } catch (error) {
        if (!isTvsError(error, "STORE_UNAVAILABLE") || around.onSilence === undefined) throw error;
        await around.onSilence();
      }
  }

  const driver: Driver = { ...database, query: (sql, args) => surely(() => database.query(sql, args)) };
  const { teachers, partners, settings, keys } = createStores(driver);
  const parts: PartnerHistory[] = [];
  const published: RecordedCall<LogCall>[] = [];
  let names = 0;
  let takesClaimed = false;
  const one = <T>(list: readonly T[]) => list[random(list.length)] as T;
  const regNoOf = (tId: number | undefined) => `H/2020/A/${tId}`;

  async function put(tId: number | undefined, standing: NonNullable<TeacherState>): Promise<void> {
    const begin = tick();
    const before = await teachers.findStored({ by: "regNo", value: regNoOf(tId) });
    const { name, status, certificate: certificateStatus } = standing;
    const licence = {
      licenseRevokedOn: status === "REVOKED" ? "2026-01-02" : null,
      licenseExpiryDate: status === "EXPIRED" ? "2026-01-02" : "2099-12-31",
    };
    const changed = { tId: tId ?? 0, name, certificateStatus, ...licence };
    const content = { ...aTeacher(regNoOf(tId)), ...before, ...changed };
    const write = planTeacherWrite(before, content, {
      action: "import",
      actor: "test",
      calendar: lagos,
      at: now(),
    });
    await surely(async (isAgain) => {
      const [isApplied] = await teachers.apply([write]);
      // A repeated change finds the version that it wrote itself.
      if (isApplied !== true && !isAgain) throw new Error("the operator's change was not applied");
    });
    published.push({ call: { events: write.events.map(({ eventId }) => eventId) }, begin, end: tick() });
  }

  const quota = (part: number) => Math.ceil(calls / (2 * part)) + random(Math.ceil(calls / part));
  const newName = () => `Ada Obi the ${++names}.`;

  async function setPolicy(isTaken: boolean): Promise<void> {
    const certificate = isTaken ? ["VERIFIED", "CLAIMED"] : ["VERIFIED"];
    const rule = { certificate, sources: ["new_system"], categories: [], minDaysRemaining: 0 };
    const policy = JSON.stringify({ version: `v${++names}`, purposes: { [purpose]: rule } });
    await settings.write({ policy });
    takesClaimed = isTaken;
  }

  const ring = async () => {
    const all = await keys.list();
    const kidOf = (state: SigningKey["state"]) => all.find((key) => key.state === state)?.kid ?? "";
    return { active: kidOf("active"), pending: kidOf("pending") };
  };

  /** Makes a change, and records it in the histories of the partners that it concerns. */
  async function change(
    about: readonly PartnerHistory[],
    by: OperatorChange,
    run: () => Promise<unknown>,
  ): Promise<void> {
    const begin = tick();
    await surely(run);
    const end = tick();
    for (const part of about) {
      part.changes.push({ call: by, begin, end });
      part.now = by.to(part.now);
    }
  }

  function changeTeacher(part: PartnerHistory, n: number): Promise<void> {
    const before = part.now.teachers[n] ?? null;
    const status = one(["VALID", "VALID", "REVOKED", "EXPIRED"] as const);
    const certificate = one(["VERIFIED", "CLAIMED"] as const);
    const standing = { name: before?.name ?? newName(), status, certificate };
    if (before?.status === status && before.certificate === certificate) standing.name = newName();
    const to = (state: PartnerState) => ({ ...state, teachers: state.teachers.with(n, standing) });
    const what = `teacher ${n} is ${JSON.stringify(standing)}`;
    return change([part], { what, to }, () => put(part.tIds[n], standing));
  }

  function setQuota(part: PartnerHistory): Promise<void> {
    const terms = random(2) === 0 ? { perMinute: quota(2) } : { perDay: quota(1) };
    const to = (state: PartnerState) => {
      const next = { ...state, ...terms };
      const { perMinute: minute, perDay: day } = next;
      const least = { minute: Math.min(state.least.minute, minute), day: Math.min(state.least.day, day) };
      return { ...next, least };
    };
    const run = () => partners.update({ partnerId: part.partnerId, ...terms });
    return change([part], { what: JSON.stringify(terms), to }, run);
  }

  function setEnabled(part: PartnerHistory, isEnabled: boolean): Promise<void> {
    const to = (state: PartnerState) => ({ ...state, isEnabled });
    const run = () => partners.disable(part.partnerId, isEnabled ? null : now());
    return change([part], { what: isEnabled ? "enabled" : "disabled", to }, run);
  }

  async function revokeKey(part: PartnerHistory): Promise<void> {
    const { keyId } = one(part.apiKeys);
    if (part.now.revokedKeys.length > 0) return;
    const to = (state: PartnerState) => ({ ...state, revokedKeys: [...state.revokedKeys, keyId] });
    await change([part], { what: `revoked ${keyId}`, to }, () => partners.revokeKey(keyId, now()));
  }

  async function rotate(): Promise<void> {
    const next = await around.nextKey();
    if (next === undefined) return;
    const { active, pending } = await ring();
    const to = (state: PartnerState) => ({ ...state, activeKid: pending });
    const what = `rotated to ${pending}`;
    await change(parts, { what, to }, async () => {
      if ((await ring()).active === active) await keys.rotate({ active, pending, next, at: now() });
    });
  }

  /** The changes, at least one for each precondition (decision D4.8). */
  const changes: readonly ((part: PartnerHistory) => Promise<void>)[] = [
    () => {
      const isTaken = !takesClaimed;
      const to = (state: PartnerState) => ({ ...state, takesClaimed: isTaken });
      return change(parts, { what: `claimed certificates: ${isTaken}`, to }, () => setPolicy(isTaken));
    },
    (part) => (random(2) === 0 ? setQuota(part) : setEnabled(part, false)),
    revokeKey,
    rotate,
    (part) => {
      const known = part.now.teachers.flatMap((standing, n) => (standing === null ? [] : [n]));
      return changeTeacher(part, one(known));
    },
    async (part) => {
      const n = part.now.teachers.indexOf(null);
      if (n >= 0) await changeTeacher(part, n);
    },
  ];

  return {
    parts,
    /** The history of the teachers' events. */
    published,
    /** Sets the policy with which all partners begin. */
    begin: () => setPolicy(false),
    /** Adds a partner that gets all events from now on. */
    async addReader(number: number): Promise<{ readonly apiKey: string }> {
      const partnerId = `reader${number}`;
      const { text, record } = mintApiKey(partnerId, { kind: "live", secrets, now: now() - 1 });
      await partners.add({ ...aPartner(partnerId), perMinute: 1_000_000, perDay: 1_000_000 }, record);
      return { apiKey: text };
    },
    /** Adds a partner with this unused number and with its own teachers. */
    async addPart(number: number): Promise<PartnerHistory> {
      const partnerId = `p${number}`;
      const batchCost = one(["call", "item"] as const);
      const terms = { perMinute: quota(3), perDay: quota(2), batchCost };
      const minted = [0, 1].map(() => mintApiKey(partnerId, { kind: "live", secrets, now: now() - 1 }));
      const [first, second] = minted.map(({ record }) => record) as [ApiKeyRecord, ApiKeyRecord];
      await partners.add({ ...aPartner(partnerId), scopes, purposes: [purpose], ...terms }, first);
      await partners.addKey(second, { shortened: null, maxLive: 2 });
      const tIds = Array.from({ length: teachersEach }, (_, n) => number * 10 + n + 1);
      const standings = tIds.map((_, n): TeacherState => {
        const certificate = n === 0 ? "CLAIMED" : "VERIFIED";
        return n < knownAtFirst ? { name: newName(), status: "VALID", certificate } : null;
      });
      for (const [n, standing] of standings.entries()) if (standing !== null) await put(tIds[n], standing);
      const { perMinute, perDay } = terms;
      const initial: PartnerState = {
        ...{ isEnabled: true, revokedKeys: [], perMinute, perDay, least: { minute: perMinute, day: perDay } },
        ...{ activeKid: (await ring()).active, takesClaimed, teachers: standings },
        ...{ used: new Map(), answered: new Map(), owed: new Map() },
      };
      const apiKeys = minted.map(({ text, record: { keyId } }) => ({ text, keyId }));
      const lists = { asked: [], changes: [], bodies: new Map() };
      const part: PartnerHistory = { partnerId, batchCost, apiKeys, tIds, ...lists, initial, now: initial };
      parts.push(part);
      return part;
    },
    /** Makes one of the changes. */
    change(): Promise<void> {
      // A disabled partner is enabled by the next change, because its history would hold refusals only.
      const disabled = parts.find(({ now }) => !now.isEnabled);
      return disabled === undefined ? one(changes)(one(parts)) : setEnabled(disabled, true);
    },
  };
}

type ApiKeyRecord = ReturnType<typeof mintApiKey>["record"];
