/** The examples of the OpenAPI document that stand beside several of its parts. */

import { refusedCredentials } from "../../domain/credentials.ts";
import { eventTypes } from "../../partner/contract.ts";
import { eventMeanings } from "../../partner/meanings.ts";
import * as examples from "./examples.ts";
import type { Json } from "./headers.ts";

function unauthorized(why: keyof typeof refusedCredentials) {
  return { statusCode: 401, message: refusedCredentials[why] } as const;
}

/** An example of each event, by its type. */
export const eventExamples: Json = Object.fromEntries(
  eventTypes.map((type) => [type, { summary: eventMeanings[type], value: examples.webhookEvents[type] }]),
);

/** Whole answers that are shown beside a response. */
export const namedExamples = {
  PublicFound: { summary: "A licensed teacher", value: examples.publicFound },
  PublicNotFound: { summary: "Nobody matched", value: examples.publicNotFound },
  EnvelopeFound: { summary: "An eligible teacher", value: examples.foundEnvelope },
  EnvelopeNotFound: { summary: "Nobody matched", value: examples.notFoundEnvelope },
  HealthOk: { summary: "Working", value: examples.health },
  HealthUnavailable: { summary: "Not working", value: examples.unavailable },
  MinuteSpent: { summary: "The partner's minute is spent", value: examples.errors.minuteSpent },
  DaySpent: { summary: "The partner's day is spent", value: examples.errors.daySpent },
  AddressSpent: { summary: "The IP address's minute is spent", value: examples.errors.addressSpent },
  PersonalSpent: {
    summary: "The IP address's lookups by NIN, e-mail or phone are spent",
    value: examples.errors.personalSpent,
  },
  NoCredential: { summary: "No credential", value: unauthorized("none") },
  NotBearer: { summary: "Something else than Bearer and a key", value: unauthorized("otherAuthorization") },
  MistypedKey: { summary: "A mistyped key, seen by its check sum", value: unauthorized("mistyped") },
  SandboxKey: { summary: "A sandbox's key, on the live service", value: unauthorized("testKey") },
  LiveKey: { summary: "A live key, on a sandbox", value: unauthorized("liveKey") },
  UnknownCredential: {
    summary: "Unknown, revoked or expired, or a disabled partner's",
    value: unauthorized("unknown"),
  },
} as const satisfies Record<string, Json>;

export type ExampleName = keyof typeof namedExamples;
