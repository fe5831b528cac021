import type { AttestedOperation } from "../../src/domain/attestations.ts";
import { createBlindIndex } from "../../src/domain/blind-index.ts";
import { createConfiguration, retryOnConflict } from "../../src/domain/configuration.ts";
import type { Signer } from "../../src/domain/envelopes.ts";
import { createIdempotentRunner } from "../../src/domain/idempotency.ts";
import type { Partner } from "../../src/domain/partners.ts";
import { createQuotaCounter } from "../../src/domain/quota.ts";
import type { StatementRequest } from "../../src/domain/statements.ts";
import type { TeacherContent } from "../../src/domain/teachers/teachers.ts";
import type { CallAnswer, TeacherQuestion, VerificationRequest } from "../../src/domain/verification.ts";
import { createCallAnswerer } from "../../src/domain/verification.ts";
import { openSigner } from "../../src/signing/signer.ts";
import type { AttestationStore } from "../../src/store/evidence/attestations.ts";
import type { TeacherReader } from "../../src/store/teachers.ts";
import { aClock } from "../harness/clock.ts";
import { fillRing } from "../harness/keys.ts";
import { aPartner, aSettings, planImport, secrets, statusIndexes } from "../harness/samples.ts";
import { type TestStores, withStores } from "../harness/store.ts";

export const start = "2026-03-01T09:30:00.250Z";
export const iat = Date.parse("2026-03-01T09:30:00Z") / 1000;
export const regNo = "LA/2019/PRI/04417";
export const nin = "12345678901";
export const purpose = "EMPLOYER_BACKGROUND_CHECK";
export const blindIndex = createBlindIndex(secrets.blindIndexKey);

const aList = { name: "Government College, Ikorodu", reference: "CENTRE-4711" };

export function ask(identifier: TeacherQuestion["identifier"], context?: object): TeacherQuestion {
  return { identifier, purpose, context };
}

export type World = Awaited<ReturnType<typeof open>>;

export type Around = {
  attestations?(real: AttestationStore, stores: TestStores): AttestationStore;
  teachers?(real: TeacherReader): TeacherReader;
  signer?(real: Signer): Signer;
  partner?: Partial<Partner>;
};

/** The real composition over a real store. `around` wraps parts of it. */
export function withVerification(run: (world: World) => Promise<void>, around: Around = {}): Promise<void> {
  return withStores(async (stores) => run(await open(stores, around)));
}

async function open(stores: TestStores, around: Around) {
  const clock = aClock(start);
  const ring = await fillRing(stores.keys, clock.now());
  const signer = await openSigner({ secrets, engine: "webcrypto" });
  const dependencies = { ...stores, secrets, clock, defaults: aSettings };
  const configuration = await createConfiguration({ ...dependencies, onKeys: signer.load });
  await enrol(stores, { tId: 204_417, ninIndex: blindIndex.nin(nin) });
  const { attestations, teachers } = stores;
  const verification = createCallAnswerer({
    configuration,
    teachers: around.teachers?.(teachers) ?? teachers,
    attestations: around.attestations?.(attestations, stores) ?? attestations,
    idempotency: createIdempotentRunner(stores.idempotencyStore, secrets, clock),
    blindIndex,
    statusIndexes,
    signer: around.signer?.(signer) ?? signer,
    clock,
  });
  const partner = { ...aPartner("agency"), ...around.partner };
  const authenticated = { partner, credential: "KeyId0000000" };
  const quota = createQuotaCounter({ clock, store: stores.quotaStore });

  async function ask(operation: AttestedOperation, asked: VerificationRequest): Promise<CallAnswer> {
    const call = quota.open();
    try {
      return await retryOnConflict(configuration, (snapshot) => {
        call.reserve(partner);
        const how = { snapshot, authenticated, operation, requestId: "request-1", quota: call };
        return verification.answer({ ...how, ...asked });
      });
    } finally {
      call.end();
    }
  }
  const one = (question: TeacherQuestion, idempotency?: VerificationRequest["idempotency"]) =>
    ask("eligibility-check", { questions: [question], idempotency });
  const batch = (questions: TeacherQuestion[], idempotency?: VerificationRequest["idempotency"]) =>
    ask("batch", { questions, idempotency });
  const roster = (teachers: StatementRequest["teachers"], idempotency?: VerificationRequest["idempotency"]) =>
    ask("roster", { questions: [], list: { purpose, list: aList, teachers }, idempotency });
  const stored = () => attestations.list({ limit: 1000 });
  return { ...stores, ...ring, clock, configuration, one, batch, roster, stored };
}

export async function enrol(
  { teachers }: Pick<TestStores, "teachers">,
  changes: Partial<TeacherContent>,
): Promise<void> {
  await teachers.apply([planImport(changes.regNo ?? regNo, changes, Date.parse(start))]);
}
