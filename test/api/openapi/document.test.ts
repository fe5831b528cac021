import { expect, test } from "bun:test";
import { sign } from "node:crypto";
import { Validator } from "@seriousme/openapi-schema-validator";
import { signEnvelopes } from "../../../src/domain/envelopes.ts";
import { eventsOfChange, type Statuses } from "../../../src/domain/events.ts";
import { leafHashOf } from "../../../src/domain/evidence/tree.ts";
import * as contract from "../../../src/partner/contract.ts";
import { type ApiErrorCode, errorCodes } from "../../../src/partner/error-codes.ts";
import { readKeyHistory } from "../../../src/partner/key-history.ts";
import { createKeySet } from "../../../src/partner/key-set.ts";
import { verifyCheckpoint } from "../../../src/partner/log-checkpoint.ts";
import { rootOfInclusionProof } from "../../../src/partner/merkle-proof.ts";
import { Refusal } from "../../../src/partner/reasons.ts";
import { readVerifierKey } from "../../../src/partner/signed-note.ts";
import { verifyStatusLists } from "../../../src/partner/status-list.ts";
import { verifyEnvelope } from "../../../src/partner/verify-envelope.ts";
import { base64url, keys } from "../../fixtures/envelope-tokens.ts";
import { document, resolve, schemaNames, validationErrors } from "./document.ts";
import * as examples from "./examples.ts";

type Json = { [member: string]: unknown };

function* objects(value: unknown, path = "#"): Generator<[string, Json]> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield [path, value as Json];
  for (const [name, member] of Object.entries(value))
    yield* objects(member, `${path}/${name.replaceAll("/", "~1")}`);
}

test("the OpenAPI document is valid OpenAPI 3.1", async () => {
  const outcome = await new Validator().validate(structuredClone(document));
  expect(outcome).toEqual({ valid: true });
});

test("the OpenAPI document refers only to its own components, and uses each of them", () => {
  const used = new Set<string>();
  for (const [path, { $ref }] of objects(document)) {
    if (typeof $ref !== "string") continue;
    expect(resolve($ref), `${path} refers to ${$ref}`).toBeDefined();
    used.add($ref);
  }
  const components = document.components as Record<string, Json>;
  const defined = ["schemas", "responses", "parameters", "headers", "examples"].flatMap((kind) =>
    Object.keys(components[kind] ?? {}).map((name) => `#/components/${kind}/${name}`),
  );
  expect(defined.filter((ref) => !used.has(ref))).toEqual([]);
});

test("the OpenAPI document has no two components whose names differ only in case", () => {
  const names = new Set(
    Object.values(document.components as Json).flatMap((kind) => Object.keys(kind as Json)),
  );
  const groups = Map.groupBy(names, (name) => name.toLowerCase());
  expect([...groups.values()].filter(({ length }) => length > 1)).toEqual([]);
});

test("the OpenAPI document describes every schema, every member and every parameter", () => {
  const silent: string[] = [];
  for (const [path, { properties }] of objects(document)) {
    for (const [name, member] of Object.entries((properties ?? {}) as Record<string, Json>)) {
      if (!("$ref" in member) && !("description" in member)) silent.push(`${path}/${name}`);
    }
  }
  const { schemas, parameters, headers } = document.components as Record<string, Record<string, Json>>;
  for (const [name, part] of Object.entries({ ...schemas, ...parameters, ...headers })) {
    if (typeof part.description !== "string") silent.push(name);
  }
  expect(silent).toEqual([]);
});

test.each(schemaNames)("the OpenAPI document has an example of %s, and every example is valid", (name) => {
  const { examples: shown } = resolve(`#/components/schemas/${name}`) as { examples: unknown[] };
  expect(shown.length).toBeGreaterThan(0);
  for (const example of shown) expect(validationErrors(name, example)).toEqual([]);
});

test("the examples beside the responses of the OpenAPI document are valid", () => {
  for (const [, { schema, example, examples: named }] of objects(document)) {
    const name = /[^/]+$/.exec(String((schema as Json | undefined)?.$ref))?.[0];
    if (name === undefined || !schemaNames.includes(name)) continue;
    const values = Object.values((named ?? {}) as Record<string, { $ref: string }>).map(
      ({ $ref }) => (resolve($ref) as { value: unknown }).value,
    );
    for (const value of [...values, ...(example === undefined ? [] : [example])]) {
      expect(validationErrors(name, value)).toEqual([]);
    }
  }
});

test("the enumerations of the OpenAPI document are those of the contract", () => {
  const enumOf = (name: string) => (resolve(`#/components/schemas/${name}`) as { enum: string[] }).enum;
  expect(enumOf("VerificationPurpose")).toEqual([...contract.purposes]);
  expect(enumOf("LicenseStatus")).toEqual([...contract.licenseStatuses]);
  expect(enumOf("CertificateStatus")).toEqual([...contract.certificateStatuses]);
  expect(enumOf("Source")).toEqual([...contract.teacherSources]);
  expect(enumOf("Reason")).toEqual([...contract.ineligibilityReasons]);
  expect(enumOf("EventType")).toEqual([...contract.eventTypes]);
  expect(enumOf("ErrorCode")).toEqual(Object.keys(errorCodes));
});

test("the OpenAPI document names the codes of every error response, and every code that a call can get", () => {
  const named = new Set<string>();
  const operations = Object.values(document.paths).flatMap((item) => Object.values(item));
  const answers = operations.flatMap(({ responses }) =>
    Object.entries(responses as Record<string, { $ref: string }>),
  );
  for (const [status, { $ref }] of answers) {
    const { "x-error-codes": codes = [] } = resolve($ref) as { "x-error-codes"?: ApiErrorCode[] };
    expect([$ref, codes.length > 0]).toEqual([$ref, Number(status) >= 400]);
    for (const code of codes)
      expect([$ref, code, errorCodes[code]?.status]).toEqual([$ref, code, Number(status)]);
    for (const code of codes) named.add(code);
  }
  const left = Object.keys(errorCodes).filter((code) => !named.has(code));
  expect(left).toEqual(["REQUEST_MALFORMED"]);
});

test("the OpenAPI document explains every value of its enumerations in a sentence, in their order", () => {
  const schemas = Object.entries(resolve("#/components/schemas") as Record<string, Json>);
  const lists = schemas.filter(([, schema]) => Array.isArray(schema.enum));
  expect(lists.map(([name]) => name)).toContain("Reason");
  for (const [name, schema] of lists) {
    const sentences = (schema["x-enumDescriptions"] ?? {}) as Record<string, string>;
    expect([name, Object.keys(sentences)]).toEqual([name, schema.enum as string[]]);
    for (const sentence of Object.values(sentences)) expect(sentence).toMatch(/^[A-Z`].*[.?]$/);
  }
});

test("the OpenAPI document states the license, and the security of every operation and webhook", () => {
  const operations = [...Object.values(document.paths), ...Object.values(document.webhooks as Json)]
    .flatMap((path) => Object.values(path as Record<string, Json>))
    .map(({ operationId, security }) => [operationId, Array.isArray(security)]);
  expect(operations.filter(([, isSaid]) => !isSaid)).toEqual([]);
  expect(document.info).toMatchObject({ license: { name: "MIT" } });
});

test.each(contract.eventTypes)(
  "the OpenAPI example of the event %s equals the event that is sent",
  (type) => {
    const example = examples.eventOf(type);
    const { tId, regNo, licenseStatus, certificateStatus, previousStatus } = example.data;
    const after = { license: licenseStatus, certificate: certificateStatus, active: true };
    const isCertificate = type.startsWith("certificate.");
    const before = { ...after, [isCertificate ? "certificate" : "license"]: previousStatus };
    const isDeactivation = type === "teacher.deactivated";
    const occurredAt = Date.parse(example.occurredAt);
    const events = eventsOfChange(
      before as Statuses,
      { ...after, active: !isDeactivation },
      { tId, regNo, occurredAt },
    );
    const sent = events.map(({ body }) => ({ ...JSON.parse(body), eventId: example.eventId }));
    expect(sent).toEqual([example]);
  },
);

const signAll = async (_kid: string, inputs: readonly string[]) =>
  inputs.map((input) => base64url(sign("sha256", Buffer.from(input), keys.active.privateKey)));

test.each([examples.foundEnvelope, examples.notFoundEnvelope])(
  "each example envelope of the OpenAPI document equals the envelope that the service signs for its values",
  async (envelope) => {
    const { verificationId, issuer, audience, result } = envelope;
    const issuedAt = Date.parse(envelope.verifiedAt) / 1000;
    const claims = { verificationId, issuer, audience, issuedAt, result };
    const [sealed] = await signEnvelopes([claims], keys.active.kid, signAll);
    expect(envelope).toEqual(JSON.parse(sealed?.json ?? ""));
  },
);

test("the OpenAPI document's envelopes verify with its example key set, key history and status list", async () => {
  const { issuer, audience } = examples;
  const keySet = await createKeySet({ jwks: JSON.stringify(examples.jwks) });
  const outcome = await verifyEnvelope(JSON.stringify(examples.foundEnvelope), {
    keys: keySet,
    issuer,
    audience,
  });
  expect(outcome.valid).toBe(true);
  expect(await readKeyHistory(examples.keyHistory, issuer)).toMatchObject({ issuer });
  const [list] = await verifyStatusLists([examples.statusList], keySet);
  const [uri] = examples.statusLists.status_lists;
  expect(list).toMatchObject({ uri, bits: 1, bytes: expect.objectContaining({ length: 2 ** 17 }) });
});

test("the example proofs of the OpenAPI document prove its two example envelopes, and verify with its log key", async () => {
  const key = await readVerifierKey(examples.logKey.trimEnd());
  if (key === null) throw new Error("not a key");
  const { leafIndex, treeSize, hashes, checkpoint } = examples.inclusion;
  const signed = await verifyCheckpoint(checkpoint, [key]);
  if (signed instanceof Refusal) throw new Error(signed.reason);
  const [leaf, other] = [examples.foundEnvelope, examples.notFoundEnvelope].map(({ signature }) =>
    Buffer.from(leafHashOf(signature)),
  );
  expect(leaf?.toString("hex")).toBe(examples.leafHash);
  expect([signed.size, leafIndex, treeSize, hashes]).toEqual([2, 0, 2, [other?.toString("base64") ?? ""]]);
  const proof = {
    leafHash: new Uint8Array(leaf ?? []),
    index: 0,
    size: 2,
    hashes: [new Uint8Array(other ?? [])],
  };
  expect(await rootOfInclusionProof(proof)).toEqual(signed.root);
  const { from, to } = examples.consistency;
  expect([from, to, examples.consistency.hashes]).toEqual([1, 2, hashes]);
});
