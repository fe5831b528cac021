// Asks about one teacher. Node 20 or later, nothing to install (tested with Node 20.20).
//   API_KEY='tvs_test_...' node ask.mjs ISSUER PURPOSE REGISTRATION_NUMBER
// Saves the answer and the keys that prove it: envelope.json, jwks.json, key-history.jose. Verify before you rely on it.
import { writeFileSync } from "node:fs";
import { argv, env, exit } from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

const [issuer, purpose, regNo] = argv.slice(2);
const service = `${issuer}/v1/inter-agency`;
const idempotencyKey = crypto.randomUUID(); // the same for each retry of one question

/** Asks again up to three times what the service could not answer; throws what it refused, a redirect too. */
async function call(path, options, attempt = 0) {
  const signal = AbortSignal.timeout(15_000);
  const answer = await fetch(service + path, { ...options, signal, redirect: "manual" }).catch((error) => {
    if (attempt === 3) throw error;
  });
  if (answer?.ok) return answer.text();
  const body = answer ? await answer.json().catch(() => ({})) : {};
  const waitSeconds = answer?.status === 429 ? (body.retryAfterSeconds ?? 1) : 2 ** attempt;
  const mayHelp = (!answer || answer.status === 429 || answer.status >= 500) && waitSeconds <= 60;
  if (!mayHelp || attempt === 3) throw new Error(`${answer?.status}: ${body.message}`);
  await sleep(waitSeconds * 1000);
  return call(path, options, attempt + 1);
}

try {
  const envelope = await call("/eligibility-check", {
    method: "POST",
    headers: {
      Authorization: `Bearer ${env.API_KEY}`,
      "Content-Type": "application/json",
      "Idempotency-Key": idempotencyKey,
    },
    body: JSON.stringify({ identifier: { regNo }, purpose }),
  });
  writeFileSync("envelope.json", envelope);
  writeFileSync("jwks.json", await call("/.well-known/jwks.json"));
  writeFileSync("key-history.jose", await call("/.well-known/key-history"));
  const { found, status, eligible, reasons } = JSON.parse(envelope).result;
  console.log(JSON.stringify({ found, status, eligible, reasons }));
} catch ({ message }) {
  console.error(message);
  exit(1);
}
