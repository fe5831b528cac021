import { expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { createExchange } from "../../src/delivery/exchange.ts";
import { forge, sendForgeries } from "../../src/delivery/forgeries.ts";
import { createEvent } from "../../src/domain/events.ts";
import { newWebhookSecret } from "../../src/domain/webhooks.ts";
import { verifyWebhook } from "../../src/partner/verify-webhook.ts";
import { withEndpoint } from "../harness/endpoint.ts";

const secret = newWebhookSecret();
const nowSeconds = Math.floor(Date.now() / 1000);
const event = createEvent("license.revoked", {
  tId: 1,
  regNo: "A/B/C/1",
  occurredAt: nowSeconds * 1000,
  statuses: { license: "REVOKED", certificate: "VERIFIED", active: true },
  previousStatus: "VALID",
});
const forged = forge(event, { version: "1", secrets: [secret], nowSeconds });

const judge = ({ headers, body }: (typeof forged)["unsigned"]) =>
  verifyWebhook({
    rawBody: body,
    signature: headers["X-AGENCY-Signature"] ?? "",
    secret,
    now: new Date(nowSeconds * 1000),
  });

test("each forgery is one that a verifier refuses, for its own reason", async () => {
  expect((await judge(forged["wrong secret"])).reason).toBe("SIGNATURE_MISMATCH");
  expect((await judge(forged["changed body"])).reason).toBe("SIGNATURE_MISMATCH");
  expect(forged["changed body"].body).not.toBe(event.body);
  expect((await judge(forged.replayed)).reason).toBe("OUTSIDE_REPLAY_WINDOW");
  expect((await judge(forged.unsigned)).reason).toBe("SIGNATURE_HEADER_MALFORMED");
  for (const { headers, body } of Object.values(forged))
    expect(() => new Webhook(secret).verify(String(body), headers)).toThrow("");
  const deliveries = Object.values(forged).map(({ headers }) => headers["X-AGENCY-Delivery-Id"]);
  expect(new Set(deliveries).size).toBe(4);
});

test("only 4xx is a refusal", async () => {
  const exchange = createExchange();
  const answers = [400, 204, 500, 401];
  await withEndpoint(
    (_request, count) => ({ status: answers[count - 1] ?? 500 }),
    async ({ url, received }) => {
      const to = { url: new URL(url), address: "127.0.0.1", allowPrivate: true };
      const sent = await sendForgeries(forged, { exchange, to });
      expect(sent.map(({ status, refused }) => [status, refused])).toEqual([
        [400, true],
        [204, false],
        [500, false],
        [401, true],
      ]);
      expect(received[3]?.headers["x-agency-signature"]).toBeUndefined();
    },
  );
  exchange.close();
});
