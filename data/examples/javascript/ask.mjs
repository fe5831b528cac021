// Asks about one teacher. Node 20 or later, nothing to install (tested with Node 20.20).
//   API_KEY='tvs_test_...' node ask.mjs ISSUER PURPOSE REGISTRATION_NUMBER
// Saves the answer and the keys that prove it: envelope.json, jwks.json, key-history.jose. Verify before you rely on it.
import { writeFileSync } from "node:fs";
import { argv, env, exit } from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

const [issuer, purpose, regNo] = argv.slice(2);
const service = `${issuer}/v1/inter-agency`;
const idempotencyKey = crypto.randomUUID(); // the same for each retry of one question
const begunAt = Date.now();

/** Asks again up to three times what the service could not answer; throws what it refused, a redirect too. */
async function call(path, options, attempt = 0) {
  const signal = AbortSignal.timeout(15_000);
  const answer = await fetch(service + path, { ...options, signal, redirect: "manual" }).catch((error) => {
    if (attempt === 3) throw error;
  });
  if (answer?.ok) return answer;
  const body = answer ? await answer.json().catch(() => ({})) : {};
  const waitSeconds = answer?.status === 429 ? (body.retryAfterSeconds ?? 1) : 2 ** attempt;
  const mayHelp = (!answer || answer.status === 429 || answer.status >= 500) && waitSeconds <= 60;
  if (!mayHelp || attempt === 3)
    throw new Error(`${answer?.headers.get("X-Error-Code") ?? answer?.status}: ${body.message}`);
  await sleep(waitSeconds * 1000);
  return call(path, options, attempt + 1);
}

/** Whether this is the answer to the question: somebody on the way may have kept a genuine one to another. */
function isMine({ verificationId, verifiedAt, result }, headers) {
  const regNoAsked = regNo.replace(/\s/g, "").toUpperCase();
  const signedAt = Date.parse(verifiedAt);
  return (
    (!result.found || result.certificate.regNo === regNoAsked) &&
    verificationId === headers.get("X-Verification-Id") &&
    signedAt >= begunAt - 60_000 &&
    signedAt <= Date.now() + 60_000
  );
}

try {
  const answer = await call("/eligibility-check", {
    method: "POST",
    headers: {
      Authorization: `Bearer ${env.API_KEY}`,
      "Content-Type": "application/json",
      "Idempotency-Key": idempotencyKey,
    },
    body: JSON.stringify({ identifier: { regNo }, purpose }),
  });
  const envelope = await answer.text();
  if (!isMine(JSON.parse(envelope), answer.headers)) throw new Error("this answers another question");
  writeFileSync("envelope.json", envelope);
  writeFileSync("jwks.json", await (await call("/.well-known/jwks.json")).text());
  writeFileSync("key-history.jose", await (await call("/.well-known/key-history")).text());
  const { found, status, eligible, reasons } = JSON.parse(envelope).result;
  console.log(JSON.stringify({ found, status, eligible, reasons }));
} catch ({ message }) {
  console.error(message);
  exit(1);
}
