import { defaultSite, type Site } from "../../domain/site.ts";
import { eventTypes } from "../../partner/contract.ts";
import { type Route, routes } from "../routes.ts";
import * as examples from "./examples.ts";
import { headers, type Json } from "./headers.ts";
import { eventExamples, namedExamples } from "./named-examples.ts";
import { parameters } from "./parameters.ts";
import { type ResponseName, responseRef, responses } from "./responses.ts";
import { jsonSchemas, type SchemaName, schemaRef } from "./schemas.ts";

/** The version of the published contract, which is not the program's. */
const contractVersion = "1.0.0";

const description = `\
Reports whether a teacher is registered and licensed, and the status of the teacher's certificate.

The **public lookup** needs no credential and answers plain JSON. The **partner API**, under \`/v1/inter-agency\`,
answers onboarded agencies with envelopes whose result is signed, so that a partner can prove later what the service
attested, and when. Credentials, scopes, allowed purposes, quotas and webhook subscriptions come from the operator.

Nobody found is not an error: it is 200 with \`found\` false, never 404, and never the answer to a failure.

## Authentication

Send your API key as \`Authorization: Bearer <API_KEY>\` or in the header \`x-agency-api-key\`, or present a client
certificate (mutual TLS) that the operator registered. The first of them that is *valid* counts; certificates come
first, then Bearer. Keys of a sandbox begin with \`tvs_test_\` and those of a live service with \`tvs_live_\`: neither
opens the other. A 401 says what can be seen of a credential without looking it up.

## Verify what you rely on

Fetch the JWKS, take the key whose \`kid\` is in the signature's JOSE header, check the RS256 signature, then \`iss\`
(the issuer) and \`aud\` (your partner id). The signed \`result\` is authoritative; the one beside it is a convenience.

Then hold the answer against your question, because a genuine envelope can be kept and given to another: the teacher that
you asked for by \`regNo\` or \`tId\`, the order of a batch, \`sub\` and \`X-Verification-Id\`, and \`iat\` within a minute
of the call (72 hours for a replay).

## Errors and retries

The body of every error is \`{statusCode, message}\`. Retry 5xx with exponential back-off, starting at 1 second, at most
3 times. On 429 wait \`retryAfterSeconds\`. Send an \`Idempotency-Key\` where it is taken, and a retry can do no harm.
Every answer has an \`X-Request-Id\`: name it when asking the operator about a call.

A body is JSON of at most 256 KiB and 32 levels in which no object has a member twice; unknown members are ignored.

## Order of checks

Address and method (404, 405), credential (401), scope (403), minute quota (429), size and form of the body (413, 400),
purpose (403), idempotency (replay, 422, 409), day quota (429), work.

## Compatibility

Answers may gain members within version 1: ignore those that you do not know. \`HEAD\` is answered wherever \`GET\` is.`;

/** That of this document, and of the program. */
const license = { name: "MIT", url: "https://opensource.org/license/mit" };

const tags = {
  public: "Public lookup",
  verification: "Verification",
  documents: "Keys and health",
  log: "Evidence log",
} as const;

const securitySchemes: Json = {
  mutualTLS: {
    type: "mutualTLS",
    description:
      "A client certificate that the operator registered, recognised by its SHA-256 fingerprint. The first of the " +
      "three methods that presents a *valid* credential counts, in this order.",
  },
  bearerKey: { type: "http", scheme: "bearer", description: "`Authorization: Bearer <API_KEY>`." },
  headerKey: {
    type: "apiKey",
    in: "header",
    name: "x-agency-api-key",
    description: "The API key in a header.",
  },
};

/** An OpenAPI 3.1 document. */
type OpenApiDocument = Json & {
  readonly openapi: "3.1.0";
  /** Operations by path and method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
};

/**
 * The service's OpenAPI 3.1 document, made from the table of routes, the schemas that they check with
 * (server/requests.ts) and those of the answers (response-schemas.ts, result-schemas.ts).
 *
 * @param issuer the service's address without a slash at its end: the one server that the document names
 * @param site whose service it is: its name in the title, and whom to ask
 */
export function openApiDocument(issuer: string, site: Site = defaultSite): OpenApiDocument {
  return {
    openapi: "3.1.0",
    info: { ...infoOf(site), version: contractVersion, description, license },
    servers: [{ url: issuer, description: "This service, and the issuer of its envelopes." }],
    tags: [
      { name: tags.public, description: "For everyone: no credential, plain JSON." },
      { name: tags.verification, description: "For partner agencies: signed envelopes." },
      {
        name: tags.documents,
        description: "What partners need for verifying, and for watching the service.",
      },
      {
        name: tags.log,
        description:
          "For everyone: every envelope is a leaf of an append-only Merkle tree (RFC 6962), whose checkpoints are " +
          "signed notes (c2sp.org/tlog-checkpoint). A proof shows that an envelope was answered before a checkpoint " +
          "was signed, also when a signing key is stolen later.",
      },
    ],
    paths: paths(),
    webhooks,
    components: {
      schemas: jsonSchemas(),
      responses,
      parameters: describeParameters(),
      headers,
      examples: { ...namedExamples, ...eventExamples },
      securitySchemes,
    },
  };
}

function infoOf({ name, contact: { email, url } }: Site): Json {
  const service = "Teacher Verification Service";
  const contact = {
    ...(name === null ? {} : { name }),
    ...(url === undefined ? {} : { url }),
    ...(email === undefined ? {} : { email }),
  };
  const title = name === null ? service : `${service} – ${name}`;
  return { title, ...(Object.keys(contact).length === 0 ? {} : { contact }) };
}

/** What the OpenAPI document says of a route. */
export type Operation = {
  readonly id: string;
  readonly tag: keyof typeof tags;
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly (keyof typeof parameters)[];
  readonly body?: SchemaName;
  readonly responses: ResponsesByStatus;
};

export type ResponsesByStatus = Readonly<Record<number, ResponseName>>;

/** Responses that any address can give. */
const everywhere = { 404: "NotFound", 405: "MethodNotAllowed", 500: "InternalError" } as const;

/** The operations of the service by path and method (contract C14), those of the table of routes. */
function paths(): OpenApiDocument["paths"] {
  const all: Record<string, Record<string, Json>> = {};
  for (const route of routes) {
    if (route.operation === undefined) continue;
    all[route.path] = { ...all[route.path], [route.method.toLowerCase()]: describe(route, route.operation) };
  }
  return all;
}

function describe(route: Route, operation: Operation): Json {
  const { id, tag, summary, description, body, responses: own } = operation;
  const all = Object.entries({ ...everywhere, ...own }) as [string, ResponseName][];
  return {
    tags: [tags[tag]],
    operationId: id,
    summary,
    description,
    ...(operation.parameters && {
      parameters: operation.parameters.map((name) => ({ $ref: `#/components/parameters/${name}` })),
    }),
    ...(body && {
      requestBody: { required: true, content: { "application/json": { schema: schemaRef(body) } } },
    }),
    // The roles that OpenAPI 3.1 lets a requirement name are the scopes of the contract.
    security:
      "scope" in route
        ? [{ mutualTLS: [route.scope] }, { bearerKey: [route.scope] }, { headerKey: [route.scope] }]
        : [],
    responses: Object.fromEntries(all.map(([status, name]) => [status, responseRef(name)])),
  };
}

function describeParameters(): Json {
  const described = Object.entries(parameters).map(([key, parameter]) => {
    const { name, in: place, description, example } = parameter;
    const schema =
      "schema" in parameter
        ? { schema: schemaRef(parameter.schema), ...(example !== undefined && { example }) }
        : { schema: { type: "string", examples: [example] } };
    const required = place !== "header" && !("isOptional" in parameter);
    return [key, { name, in: place, required, description, ...schema }];
  });
  return Object.fromEntries(described);
}

function header(name: string, description: string, schema: Json): Json {
  return { name, in: "header", required: true, description, schema };
}

const uuid = (example: string) => ({ type: "string", examples: [example] });

const signatureRule =
  "`t=<unix_seconds>,v1=<hex_digest>`. `v1` is the lower-case hexadecimal HMAC-SHA256 of `<t>.<rawBody>` (t, a dot, the " +
  "body's bytes as received) under the webhook signing secret, whose text is used whole, `whsec_` included. Compare in " +
  "constant time, and reject when now and `t` are more than 300 seconds apart. While a secret is being rotated there " +
  "are two `v1`, the new one first: accept when either matches. Each attempt is signed afresh. The example is that of the " +
  `example of \`${examples.webhookEvent.eventType}\`, written as compact JSON, under the secret \`${examples.webhookSecret}\`.`;

const eventRefs = Object.fromEntries(
  Object.keys(eventExamples).map((type) => [type, { $ref: `#/components/examples/${type}` }]),
);

/** What the service calls at a subscribed partner's endpoint (contract C20). */
const webhooks: Json = {
  statusChange: {
    post: {
      operationId: "onStatusChange",
      // It comes with a signature, which no scheme of OpenAPI describes; see the header.
      security: [],
      summary: "A teacher's license or certificate changed",
      description:
        `Sent to the endpoint of a subscribed partner, as one of ${eventTypes.map((type) => `\`${type}\``).join(", ")}. ` +
        "Acknowledge with any 2xx within 15 seconds, and do the work afterwards. Anything else, a redirect included, is " +
        "tried again after 5 s, 30 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h, each with up to 20 % jitter; " +
        "then the delivery is dead until the operator retries it. Events may arrive twice or out of order: ignore an " +
        "`eventId` that you know, and look the teacher up when the order matters.",
      parameters: [
        header("X-AGENCY-Signature", signatureRule, {
          type: "string",
          pattern: "^t=[0-9]+(,v1=[0-9a-f]{64}){1,2}$",
          examples: [examples.webhookSignature],
        }),
        header("X-AGENCY-Event-Id", "The body's `eventId`.", uuid(examples.webhookEvent.eventId)),
        header("X-AGENCY-Event-Type", "The body's `eventType`.", schemaRef("EventType")),
        header(
          "X-AGENCY-Delivery-Id",
          "Id of this event's delivery to this endpoint, the same through every attempt.",
          uuid("019ca8c4-7b72-7aa1-9c33-0b7de4f5a610"),
        ),
        header("User-Agent", "Name and version of the sender.", {
          type: "string",
          examples: ["tvs-webhooks/1.0.0"],
        }),
      ],
      requestBody: {
        required: true,
        description: "Exactly these bytes are signed: verify before parsing.",
        content: { "application/json": { schema: schemaRef("WebhookEvent"), examples: eventRefs } },
      },
      responses: {
        "2XX": { description: "Acknowledged." },
        "410": { description: "The endpoint is gone: the service stops sending to it." },
        default: { description: "Not acknowledged; tried again. A `Retry-After` is honoured within bounds." },
      },
    },
  },
};
