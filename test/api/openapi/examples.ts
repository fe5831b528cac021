import type { PublicAnswer } from "../../../src/domain/teachers/public-lookup.ts";
import type {
  EligibilityResult,
  SignedEnvelope,
  SignedStatement,
  WebhookEvent,
} from "../../../src/partner/contract.ts";
import { resolve } from "./document.ts";

/** The examples of the OpenAPI document, so that the tests check what partners read. */

function shownAs<Value>(name: string): Value {
  return (resolve(`#/components/examples/${name}`) as { value: Value }).value;
}

const inSchema = <Value>(name: string) =>
  (resolve(`#/components/schemas/${name}`) as { examples: [Value, ...Value[]] }).examples;

export const foundEnvelope = shownAs<SignedEnvelope>("EnvelopeFound");
export const notFoundEnvelope = shownAs<SignedEnvelope>("EnvelopeNotFound");
export const { issuer, audience } = foundEnvelope;
export const [, expiredResult] = inSchema<EligibilityResult>("EligibilityResult");
export const [teacher] = inSchema<NonNullable<EligibilityResult["teacher"]>>("Teacher");
export const [license] = inSchema<NonNullable<EligibilityResult["license"]>>("License");
export const [certificate] = inSchema<NonNullable<EligibilityResult["certificate"]>>("Certificate");
export const [profile] = inSchema<NonNullable<EligibilityResult["profile"]>>("Profile");
export const [regNo] = inSchema<string>("RegNo");
export const [tId] = inSchema<number>("TId");
export const [nin] = inSchema<string>("Nin");

export const [eligibilityCheck] = inSchema<{ identifier: object; purpose: string }>(
  "EligibilityCheckRequest",
);
export const [batchCheck] = inSchema<{ items: readonly object[] }>("BatchCheckRequest");
export const [batchResponse] = inSchema<{ count: number; results: SignedEnvelope[] }>("BatchResponse");
export const [rosterRequest] = inSchema<object>("RosterRequest");
export const [statement] = inSchema<SignedStatement>("SignedStatement");
export const publicFound = shownAs<PublicAnswer>("PublicFound");
export const publicNotFound = shownAs<PublicAnswer>("PublicNotFound");

export const [jwks] = inSchema<{ keys: readonly object[] }>("Jwks");
export const [keyHistory] = inSchema<string>("KeyHistory");
export const [leafHash] = inSchema<string>("LeafHash");
export const [inclusion] = inSchema<{
  leafIndex: number;
  treeSize: number;
  hashes: readonly string[];
  checkpoint: string;
}>("LogInclusion");
export const [consistency] = inSchema<{ from: number; to: number; hashes: readonly string[] }>(
  "LogConsistency",
);
export const [statusLists] = inSchema<{ status_lists: readonly string[] }>("StatusLists");
export const [statusList] = inSchema<string>("StatusList");
export const health = shownAs<object>("HealthOk");

export const logKey = resolve(
  "#/components/responses/LogKey/content/text~1plain/schema/examples/0",
) as string;

export const webhookEvent = shownAs<WebhookEvent>("license.revoked");
export const eventOf = (type: string) => shownAs<WebhookEvent>(type);

const webhookHeaders = resolve("#/webhooks/statusChange/post/parameters") as [
  { name: string; description: string; schema: { examples: [string] } },
];
const [signature] = webhookHeaders;
/** The example values of a webhook's headers, by name. */
export const shownHeaders = Object.fromEntries(
  webhookHeaders.map(({ name, schema }) => [name, schema.examples?.[0]]),
);
/** The example secret, from the description of the signature header. */
export const webhookSecret =
  /`(whsec_[^`]+)`/.exec(signature.description.replaceAll("`whsec_`", ""))?.[1] ?? "";
