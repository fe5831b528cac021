import { parameters, paths, tags } from "./operations.ts";
import { headers, type Json, namedExamples, responses } from "./responses.ts";
import { jsonSchemas } from "./schemas.ts";
import { webhooks } from "./webhooks.ts";

/** The version of the published contract, which is not the program's. */
export const contractVersion = "1.0.0";

const description = `\
Reports whether a teacher is registered and licensed, and the status of the teacher's certificate.

**Two parts.** The public look-up needs no credential and answers plain JSON. The partner API, under
\`/v1/inter-agency\`, answers onboarded agencies with envelopes whose result is signed, so that a partner can prove
later what the service attested, and when. Credentials, scopes, allowed purposes, quotas and webhook subscriptions
come from the operator.

**Nobody found is not an error.** It is 200 with \`found\` false, never 404, and never the answer to a failure.

**Verify what you rely on.** Fetch the JWKS, take the key whose \`kid\` is in the signature's JOSE header, check the
RS256 signature, then \`iss\` (the issuer) and \`aud\` (your partner id). The signed \`result\` is authoritative; the
one beside it is a convenience.

**Errors** are \`{statusCode, message}\`. Retry 5xx with exponential back-off, starting at 1 second, at most 3 times.
On 429 wait \`retryAfterSeconds\`. Send an \`Idempotency-Key\` where it is taken, and a retry can do no harm. A 401 says
what can be seen of a credential without looking it up.

**Order of checks:** address and method (404, 405), credential (401), scope (403), minute quota (429), size and form
of the body (413, 400), purpose (403), idempotency (replay, 422, 409), day quota (429), work.

**Compatibility.** Answers may gain members within version 1: ignore those that you do not know. \`HEAD\` is answered
wherever \`GET\` is.`;

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
export type OpenApiDocument = Json & { readonly openapi: "3.1.0"; readonly paths: typeof paths };

/**
 * The service's OpenAPI 3.1 document, made from the schemas that the routes check with (schemas.ts) and those of the
 * answers (response-schemas.ts, result-schemas.ts).
 *
 * @param issuer the service's address without a slash at its end: the one server that the document names
 */
export function openApiDocument(issuer: string): OpenApiDocument {
  return {
    openapi: "3.1.0",
    info: { title: "Teacher Verification Service", version: contractVersion, description },
    servers: [{ url: issuer, description: "This service, and the issuer of its envelopes." }],
    tags: [
      { name: tags.public, description: "For everyone: no credential, plain JSON." },
      { name: tags.verification, description: "For partner agencies: signed envelopes." },
      {
        name: tags.documents,
        description: "What partners need for verifying, and for watching the service.",
      },
    ],
    paths,
    webhooks,
    components: {
      schemas: jsonSchemas(),
      responses,
      parameters,
      headers,
      examples: namedExamples,
      securitySchemes,
    },
  };
}
