import { afterAll, beforeAll, expect, test } from "bun:test";
import { buildHeaders } from "../../../src/delivery/attempt.ts";
import { scopes } from "../../../src/domain/partners.ts";
import { sandboxTeachers } from "../../../src/domain/sandbox/teachers.ts";
import type { TeacherContent } from "../../../src/domain/teachers/teachers.ts";
import { purposes, type SignedEnvelope } from "../../../src/partner/contract.ts";
import { createKeySet } from "../../../src/partner/key-set.ts";
import { verifyEnvelope } from "../../../src/partner/verify-envelope.ts";
import { verifyWebhook } from "../../../src/partner/verify-webhook.ts";
import { aClock } from "../../harness/clock.ts";
import { aTeacherWrite } from "../../harness/samples.ts";
import { addPartner, openTestService, refusedPurpose } from "../../harness/service.ts";
import { expectDocumented, isDescribed } from "./described.ts";
import { resolve } from "./document.ts";
import * as examples from "./examples.ts";

/**
 * Asks the real app for every answer that the OpenAPI document shows. Only ids, keys and signatures differ each time;
 * document.test.ts verifies the signatures of the examples.
 */

const prefix = "/v1/inter-agency";
const { regNo, tId, teacher, license, certificate, profile } = examples;

const content: Partial<TeacherContent> = {
  tId,
  name: teacher.name,
  state: teacher.state,
  category: teacher.category,
  ninVerified: true,
  certificateIssueDate: certificate.issueDate,
  licenseIssueDate: license.issueDate,
  licenseExpiryDate: license.expiryDate,
  profile,
};
const expired: Partial<TeacherContent> = {
  ...content,
  source: "legacy",
  certificateStatus: "LEGACY_RECORD",
  certificateIssueDate: null,
  licenseIssueDate: "2022-01-10",
  licenseExpiryDate: "2025-01-09",
  profile: null,
};

type Init = {
  as?: "full" | "narrow";
  method?: string;
  body?: unknown;
  headers?: Record<string, string>;
};

/** Opens a service with the partner of the examples, one with fewer rights, and the teacher of the examples. */
async function openExampleWorld(teacher = content) {
  const world = await openTestService({ clock: aClock("2026-03-01T09:30:00.123Z") });
  const { operator, service } = world;
  const allowed = purposes.filter((purpose) => purpose !== refusedPurpose);
  const terms = { scopes, purposes: allowed, perMinute: 600, perDay: 600 };
  const keys = {
    full: await addPartner(operator, examples.audience, terms),
    narrow: await addPartner(operator, "narrow", { ...terms, scopes: ["eligibility"], watchLimit: 1_000 }),
  };
  await operator.stores.teachers.apply([aTeacherWrite(regNo, teacher)]);
  await service.configuration.refresh();

  async function ask(path: string, { as, ...init }: Init = {}): Promise<unknown> {
    const authorization = as === undefined ? {} : { Authorization: `Bearer ${keys[as].text}` };
    const response = await world.call(path, { ...init, headers: { ...init.headers, ...authorization } });
    const method = init.method ?? (init.body === undefined ? "GET" : "POST");
    return isDescribed(path) ? expectDocumented(response, path, method) : response.json();
  }

  return { ask, close: world.close };
}

let world: Awaited<ReturnType<typeof openExampleWorld>>;
beforeAll(async () => {
  world = await openExampleWorld();
});
afterAll(() => world.close());

const text = expect.any(String);

/** Expects that an envelope verifies with the app's published keys, and equals the shown one except for its ids. */
async function expectAsShown(envelope: unknown, shown: SignedEnvelope): Promise<void> {
  const jwks = JSON.stringify(await world.ask(`${prefix}/.well-known/jwks.json`));
  const { issuer, audience } = examples;
  const keys = await createKeySet({ jwks });
  const now = new Date("2026-03-01T12:00:00Z");
  const verdict = await verifyEnvelope(JSON.stringify(envelope), { keys, issuer, audience, now });
  expect(verdict).toMatchObject({ valid: true });
  expect<unknown>(envelope).toEqual({ ...shown, verificationId: text, signature: text, signatureKid: text });
  expect(JSON.stringify((envelope as SignedEnvelope).result)).toBe(JSON.stringify(shown.result));
}

const publicly = (term: string) => `/teacher/verify-license?searchTerm=${encodeURIComponent(term)}`;

test("the service's public lookup answer equals the OpenAPI document's example", async () => {
  expect(await world.ask(publicly(regNo))).toEqual(examples.publicFound);
  expect(await world.ask(publicly("XX/1/2/3"))).toEqual(examples.publicNotFound);
});

test("the service's envelopes for a found teacher and for nobody equal the OpenAPI document's examples", async () => {
  const check = { as: "full", body: examples.eligibilityCheck } as const;
  await expectAsShown(await world.ask(`${prefix}/eligibility-check`, check), examples.foundEnvelope);
  const nobody = await world.ask(`${prefix}/lookup/by-tid/999999`, { as: "full" });
  await expectAsShown(nobody, examples.notFoundEnvelope);
});

test("the service's answer to a batch equals the OpenAPI document's example", async () => {
  const answer = (await world.ask(`${prefix}/batch`, { as: "full", body: examples.batchCheck })) as {
    count: number;
    results: unknown[];
  };
  expect([answer.count, answer.results.length]).toEqual([2, examples.batchResponse.count]);
  await expectAsShown(answer.results[0], examples.foundEnvelope);
  await expectAsShown(answer.results[1], examples.notFoundEnvelope);
});

test("the service's statement over a list equals the OpenAPI document's example", async () => {
  const answer = await world.ask(`${prefix}/rosters`, { as: "full", body: examples.rosterRequest });
  expect(answer).toEqual({ ...examples.statement, statementId: text, signature: text, signatureKid: text });
});

test("the service's answer about an expired licence of the old system equals the OpenAPI document's example", async () => {
  const other = await openExampleWorld(expired);
  const body = { identifier: { regNo }, purpose: "BODYA_EXAMINER_CREDENTIAL_CHECK" };
  const envelope = (await other.ask(`${prefix}/eligibility-check`, { as: "full", body })) as SignedEnvelope;
  expect<unknown>(envelope.result).toEqual(examples.expiredResult);
  await other.close();
});

test("the service's key set and health answer equal the OpenAPI document's examples", async () => {
  const [shown] = examples.jwks.keys;
  const { keys } = (await world.ask(`${prefix}/.well-known/jwks.json`)) as typeof examples.jwks;
  expect(keys.map((key) => Object.keys(key).sort())).toEqual(keys.map(() => Object.keys(shown ?? {}).sort()));
  expect(await world.ask(`${prefix}/health`)).toEqual({ ...examples.health, activeKid: text });
});

test("the signature of the OpenAPI document's example event verifies", async () => {
  const { webhookEvent, webhookSecret: secret, shownHeaders } = examples;
  const rawBody = JSON.stringify(webhookEvent);
  const signature = shownHeaders["X-AGENCY-Signature"] ?? "";
  const delivery = {
    ...webhookEvent,
    body: rawBody,
    deliveryId: shownHeaders["X-AGENCY-Delivery-Id"] ?? "",
  };
  const signing = { version: "1.0.0", secrets: [secret], timestampSeconds: 1_772_357_999 };
  const { "Content-Type": _, ...sent } = buildHeaders(delivery, signing);
  expect({ ...shownHeaders, "X-AGENCY-Event-Type": webhookEvent.eventType } as object).toEqual(sent);
  const outcome = await verifyWebhook({ rawBody, signature, secret, now: new Date(1_772_357_999_000) });
  expect(outcome).toMatchObject({ valid: true });
});

test("the teacher of the OpenAPI document's examples is the first teacher of a sandbox", () => {
  const [first] = sandboxTeachers;
  expect(first).toMatchObject({ ...teacher, regNo, nin: examples.nin });
  expect(first?.profile).toEqual({ qualifications: profile.qualifications, employment: profile.employment });
});

const shown = (name: string) =>
  resolve(`#/components/responses/${name}/content/application~1json/example`) as unknown;

const eligibility = `${prefix}/eligibility-check`;
const checkOf = (identifier: object) => ({ identifier, purpose: "BODYA_INVIGILATOR_ELIGIBILITY" });
const ids = [1, 2, 3].map((id) => checkOf({ tId: id }));

const unknown = "019ca8c4-7b72-7aa1-9c33-0b7de4f5a610";
const manyNumbers = Array.from({ length: 1_001 }, (_, number) => `TR/2019/LA/${number}`);

const cases: [name: string, path: string, init: Init][] = [
  ["PublicInvalid", "/teacher/verify-license", {}],
  ["Invalid", `${prefix}/batch`, { as: "full", body: { items: [...ids, checkOf({ nin: "1" })] } }],
  ["InvalidAddress", `${prefix}/lookup/by-tid/x`, { as: "full" }],
  ["InvalidBody", `${prefix}/lookup/by-nin`, { as: "full", body: { nin: "1" } }],
  ["InvalidCheck", eligibility, { as: "full", body: { identifier: { tId: 1 } } }],
  ["ScopeMissing", `${prefix}/lookup/by-nin`, { as: "narrow", body: { nin: examples.nin } }],
  [
    "Forbidden",
    eligibility,
    { as: "full", body: { ...examples.eligibilityCheck, purpose: "EMPLOYER_BACKGROUND_CHECK" } },
  ],
  ["NotFound", `${prefix}/lookup`, {}],
  ["MethodNotAllowed", eligibility, { method: "DELETE" }],
  ["LogInvalid", `${prefix}/log/inclusion/${examples.leafHash.toUpperCase()}`, {}],
  ["LeafUnknown", `${prefix}/log/inclusion/${"0".repeat(64)}`, {}],
  ["SizeUnknown", `${prefix}/log/consistency?from=1&to=${Number.MAX_SAFE_INTEGER}`, {}],
  ["NoStatusLists", `${prefix}/status`, {}],
  ["NoStatusList", `${prefix}/status/0`, {}],
  ["InvalidPage", `${prefix}/watch?limit=501`, { as: "full" }],
  ["InvalidWatch", `${prefix}/watch`, { as: "full", body: { add: ["TR/2019/LA/000001", "1"] } }],
  ["WatchLimit", `${prefix}/watch`, { as: "narrow", body: { add: manyNumbers } }],
  ["EventsGone", `${prefix}/events?after=${unknown}`, { as: "full" }],
  ["DeliveryUnknown", `${prefix}/me/deliveries/${unknown}`, { as: "full" }],
  ["NotSendable", `${prefix}/me/deliveries/${unknown}/retry`, { as: "full", method: "POST" }],
  ["TooLarge", `${prefix}/batch`, { as: "full", body: " ".repeat(257 * 1024) }],
];

test.each(cases)("the service's refusal equals the OpenAPI example response %s", async (name, path, init) => {
  expect(await world.ask(path, init)).toEqual(shown(name));
});

test("the answers of an empty log equal the OpenAPI document's examples", async () => {
  const other = await openExampleWorld();
  expect(await other.ask(`${prefix}/log/checkpoint`)).toEqual(shown("NoCheckpoint"));
  await other.close();
});

test("the refusal of an idempotency key with another body equals the OpenAPI document's example", async () => {
  const headers = { "Idempotency-Key": "examples" };
  await world.ask(eligibility, { as: "full", headers, body: checkOf({ tId: 1 }) });
  const again = await world.ask(eligibility, { as: "full", headers, body: checkOf({ tId: 2 }) });
  expect(again).toEqual(shown("KeyReused"));
});
