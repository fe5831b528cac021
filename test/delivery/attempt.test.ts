import { afterAll, beforeAll, describe, expect, setSystemTime, test } from "bun:test";
import * as standardwebhooks from "standardwebhooks";
import Stripe from "stripe";
import * as svix from "svix";
import { buildHeaders, signDelivery } from "../../src/delivery/attempt.ts";
import { generateWebhookSecret } from "../../src/domain/webhooks.ts";
import vectors from "../fixtures/webhooks/vectors.json" with { type: "json" };
import { catchError } from "../harness/rejection.ts";

const timestampSeconds = 1_772_366_400;
const receivedAt = timestampSeconds * 1000;
const newer = "whsec_5f4dcc3b5aa765d61d8327deb882cf99";
const older = "whsec_0cc175b9c0f1b6a831c399e269772661";
const body = '{"eventId":"évt_😀","eventType":"license.revoked"}';
const { signature: verifier } = Stripe.webhooks;

/** Returns true if stripe's verifier accepts the signature header at the time of receipt. */
async function stripeAccepts(header: string, secret: string, payload: string | Buffer = body) {
  if (verifier === null) throw new Error("stripe brings no verifier on this runtime");
  const verification = verifier.verifyHeaderAsync(payload, header, secret, 300, undefined, receivedAt);
  const refusal = await catchError(verification);
  if (refusal !== undefined) expect(refusal).toBeInstanceOf(Stripe.errors.StripeSignatureVerificationError);
  return refusal === undefined;
}

const single = vectors.filter(({ valid, signature }) => valid && /^t=\d+,v1=[^,]+$/.test(signature));

test.each(single.map((vector) => [vector.name, vector] as const))(
  "signDelivery reproduces the published test vector %s",
  (_name, vector) => {
    const time = Number(/^t=(\d+)/.exec(vector.signature)?.[1]);
    const signed = signDelivery({ body: vector.body, secrets: [vector.secret], timestampSeconds: time });
    expect(signed).toBe(vector.signature);
  },
);

test("signDelivery refuses an empty secret, with which anybody could sign", () => {
  expect(() => signDelivery({ body, secrets: [newer, ""], timestampSeconds })).toThrow(RangeError);
});

test("Stripe's library verifies a delivery with either secret of a rotation", async () => {
  const header = signDelivery({ body, secrets: [newer, older], timestampSeconds });
  expect(await stripeAccepts(header, newer)).toBe(true);
  expect(await stripeAccepts(header, older, Buffer.from(body))).toBe(true);
  const after = signDelivery({ body, secrets: [newer], timestampSeconds });
  expect(await stripeAccepts(after, newer)).toBe(true);
  expect(await stripeAccepts(after, older)).toBe(false);
  expect(await stripeAccepts(after, newer, `${body} `)).toBe(false);
});

describe.each(Object.entries({ standardwebhooks, svix }))(
  "Standard Webhooks headers, verified by the library %s",
  (_name, { Webhook }) => {
    const [secret, replaced] = [generateWebhookSecret(), generateWebhookSecret()];
    const eventId = "019ca8c4-7b60-7b14-bd0e-55f0c1a2e9d3";
    const event = { body, eventId, eventType: "license.revoked", deliveryId: "d" } as const;

    function headersOf(secrets: readonly string[], ageSeconds = 0) {
      const signing = { version: "1", secrets, timestampSeconds: timestampSeconds - ageSeconds };
      return buildHeaders(event, signing);
    }
    const verdictOf = (headers: Record<string, string>, { by = secret, of = body } = {}) => {
      try {
        return new Webhook(by).verify(of, headers);
      } catch (error) {
        return (error as Error).constructor.name;
      }
    };
    beforeAll(() => void setSystemTime(receivedAt));
    afterAll(() => void setSystemTime());
    const genuine = JSON.parse(body);
    const refused = "WebhookVerificationError";

    // biome-ignore format: a table reads better in rows
    test.each([
      ["one secret", headersOf([secret]), {}, genuine],
      ["a time 300 s ago", headersOf([secret], 300), {}, genuine],
      ["both secrets, for the holder of the new one", headersOf([secret, replaced]), {}, genuine],
      ["both secrets, for the holder of the old one", headersOf([replaced, secret]), {}, genuine],
      ["the new secret alone after a rotation", headersOf([replaced]), {}, refused],
      ["a time 310 s ago", headersOf([secret], 310), {}, refused],
      ["another secret", headersOf([secret]), { by: replaced }, refused],
      ["another body", headersOf([secret]), { of: `${body} ` }, refused],
      ["another event's id", { ...headersOf([secret]), "webhook-id": "another" }, {}, refused],
      ["another time", { ...headersOf([secret]), "webhook-timestamp": `${timestampSeconds - 9}` }, {},
        refused],
    ])("the Standard Webhooks library accepts or refuses a delivery with %s as expected", (_case, headers, how, expected) => {
      expect(verdictOf(headers, how)).toEqual(expected);
    });

    test("each secret of a rotation signs the Standard Webhooks headers, whose webhook-id is the event's id", () => {
      expect(headersOf([secret, replaced])["webhook-signature"]).toMatch(/^v1,[^ ]+ v1,[^ ]+$/);
      expect(headersOf([secret])["webhook-id"]).toBe(eventId);
    });
  },
);
