import { expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  findWebhookSecretProblem,
  verifyWebhook,
  webhookRefusalReasons,
} from "../../src/partner/verify-webhook.ts";

type Vector = {
  name: string;
  secret: string;
  now: string;
  body: string;
  signature: string;
  valid: boolean;
  reason: keyof typeof webhookRefusalReasons | null;
};

const path = join(import.meta.dirname, "..", "fixtures", "webhooks", "vectors.json");
const vectors: Vector[] = JSON.parse(readFileSync(path, "utf8"));

const [good] = vectors as [Vector];
const named = (name: string) => vectors.find((vector) => vector.name === name) as Vector;
const [late, forged] = [named("301 seconds late"), named("a changed time")];

function inputOf({ body, signature, secret, now }: Vector) {
  return { rawBody: body, signature, secret, now: new Date(now) };
}

for (const vector of vectors) {
  test(`the webhook test vector ${vector.name} gives the verdict ${vector.reason ?? "valid"}`, async () => {
    const found = await verifyWebhook(inputOf(vector));
    expect([found.valid, found.reason]).toEqual([vector.valid, vector.reason]);
    expect(found.event).toEqual(vector.valid ? JSON.parse(vector.body) : null);
    const asBytes = await verifyWebhook({ ...inputOf(vector), rawBody: Buffer.from(vector.body) });
    expect(asBytes).toEqual(found);
  });
}

test("every refusal reason of webhooks has a test vector", () => {
  const covered = new Set(vectors.flatMap(({ reason }) => (reason === null ? [] : [reason])));
  const reasons = [...covered].sort();
  expect(reasons).toEqual(Object.keys(webhookRefusalReasons).sort() as typeof reasons);
});

test("verifyWebhook returns a delivery's time only if the signature is valid", async () => {
  const timeOf = async (vector: Vector) => (await verifyWebhook(inputOf(vector))).timestamp;
  expect(await Promise.all([good, late, forged].map(timeOf))).toEqual([1772366400, 1772366400, null]);
});

const now = new Date("2026-03-01T12:00:00Z");
const verifySigned = (rawBody: string | Uint8Array) => {
  const digest = createHmac("sha256", "whsec_x").update("1772366400.").update(rawBody).digest("hex");
  return verifyWebhook({ rawBody, signature: `t=1772366400,v1=${digest}`, secret: "whsec_x", now });
};

test("verifyWebhook returns the body as an event only if the body has all members of an event", async () => {
  const event = { eventId: "a", eventType: "b", occurredAt: "c", data: {} };
  expect(await verifySigned(JSON.stringify(event))).toMatchObject({ valid: true, event });
  const others = [{ eventId: 7 }, { eventType: null }, { occurredAt: 7 }, { data: [] }, { data: "" }];
  const bodies = others.map((one) => JSON.stringify({ ...event, ...one }));
  for (const body of [...bodies, '{"data":{}}', "null", "[]", Uint8Array.of(0xff)])
    expect(await verifySigned(body)).toMatchObject({ valid: true, event: null });
});

test("verifyWebhook refuses a signature header that does not begin with the time", async () => {
  const found = await verifyWebhook({ ...inputOf(good), signature: `v1=0,${good.signature}` });
  expect(found.reason).toBe("SIGNATURE_HEADER_MALFORMED");
});

test("the caller can set the replay window of verifyWebhook", async () => {
  expect((await verifyWebhook({ ...inputOf(late), toleranceSeconds: 301 })).valid).toBe(true);
});

test("verifyWebhook throws for an empty or damaged secret, or a wrong date", async () => {
  await expect(verifyWebhook({ ...inputOf(good), secret: "" })).rejects.toThrow(
    new TypeError("verifyWebhook needs the webhook secret"),
  );
  await expect(verifyWebhook({ ...inputOf(good), secret: `${good.secret}\n` })).rejects.toThrow(
    "The webhook secret cannot be read.",
  );
  await expect(verifyWebhook({ ...inputOf(good), now: new Date("never") })).rejects.toThrow(
    new TypeError("now is not a valid date"),
  );
});

test.each<[secret: string, problem: string | null]>([
  ["whsec_abc", null],
  ["whsec_\u00EF\u00BB\u00BF", "It has characters that no secret has: give it as it was handed out."],
  ["\uFEFFx", "It begins with a byte order mark, or is in UTF-16: save it as UTF-8 without a mark."],
  ["w\0h\0", "It is in UTF-16: save it as UTF-8 without a mark."],
  ["whsec_ x", "It has white space: give the secret alone."],
])("the webhook secret %j has the problem %p", (secret, problem) => {
  expect(findWebhookSecretProblem(secret)).toBe(problem);
});
