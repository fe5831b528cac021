import { expect, test } from "bun:test";
import * as partner from "tvs/partner";

test("the package gives partners these values and no others, under its own name", () => {
  expect(Object.keys(partner).sort()).toEqual([
    "ClientError",
    "Refusal",
    "clientErrorCodes",
    "createClient",
    "createKeySet",
    "describeAge",
    "describeAnswer",
    "describeStatement",
    "formatLogState",
    "isStatement",
    "openLogProof",
    "readEnvelopes",
    "readLogKeys",
    "readLogState",
    "readOfflinePack",
    "readStrictJson",
    "refusalReasons",
    "rememberCheckpoint",
    "rowOfStatement",
    "verifyEnvelope",
    "verifyEnvelopeSync",
    "verifyEvent",
    "verifyStatement",
    "verifyWebhook",
    "warnings",
    "webhookRefusalReasons",
  ]);
});

test("a partner needs nothing else to verify an envelope", async () => {
  const keys = await partner.createKeySet({ jwks: { keys: [] } });
  const [item] = partner.readEnvelopes('{"verificationId":"x"}');
  if (item === undefined || "refusal" in item) throw new Error("nothing was found");
  const options = { keys, issuer: "https://verify.example.org", audience: "exam-board" };
  expect(await partner.verifyEnvelope(item.value, options)).toMatchObject({
    valid: false,
    verdict: "refused",
    reason: "ENVELOPE_MALFORMED",
  });
});
