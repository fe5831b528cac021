import { eventTypes } from "../../partner/contract.ts";
import * as examples from "./examples.ts";
import type { Json } from "./responses.ts";
import { schemaRef } from "./schemas.ts";

function header(name: string, description: string, schema: Json): Json {
  return { name, in: "header", required: true, description, schema };
}

const uuid = (example: string) => ({ type: "string", examples: [example] });

const signatureRule =
  "`t=<unix_seconds>,v1=<hex_digest>`. `v1` is the lower-case hexadecimal HMAC-SHA256 of `<t>.<rawBody>` (t, a dot, the " +
  "body's bytes as received) under the webhook signing secret, whose text is used whole, `whsec_` included. Compare in " +
  "constant time, and reject when now and `t` are more than 300 seconds apart. While a secret is being rotated there " +
  "are two `v1`, the new one first: accept when either matches. Each attempt is signed afresh. The example is that of the " +
  `example event, written as compact JSON, under the secret \`${examples.webhookSecret}\`.`;

/** What the service calls at a subscribed partner's endpoint (contract, Events). */
export const webhooks: Json = {
  statusChange: {
    post: {
      operationId: "onStatusChange",
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
        content: { "application/json": { schema: schemaRef("WebhookEvent") } },
      },
      responses: {
        "2XX": { description: "Acknowledged." },
        "410": { description: "The endpoint is gone: the service stops sending to it." },
        default: { description: "Not acknowledged; tried again. A `Retry-After` is honoured within bounds." },
      },
    },
  },
};
