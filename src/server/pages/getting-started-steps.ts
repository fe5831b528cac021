/** The commands, programs and tables that the getting-started page shows. */

import receiverJava from "../../../data/receivers/Receiver.java" with { type: "text" };
import receiverGo from "../../../data/receivers/receiver.go" with { type: "text" };
import receiverMjs from "../../../data/receivers/receiver.mjs" with { type: "text" };
import receiverPhp from "../../../data/receivers/receiver.php" with { type: "text" };
import receiverPy from "../../../data/receivers/receiver.py" with { type: "text" };
import { sandboxTeachers } from "../../domain/sandbox-teachers.ts";
import { retryStepsMs } from "../../domain/webhook-schedule.ts";

/** What the commands are written for. */
export type Surroundings = {
  /** The service's public address, without a slash at its end. */
  readonly issuer: string;
  readonly sandbox: boolean;
  /** What stands in for the reader's own key and id, where the real ones cannot be shown. */
  readonly apiKey: string;
  readonly partnerId: string;
};

/** Commands to paste into one shell, one after the other: later ones use what earlier ones have set and saved. */
export type Commands = {
  readonly id: string;
  readonly lines: (at: Surroundings) => string;
};

const [valid, expired] = sandboxTeachers;
const regNo = valid?.regNo ?? "";
const api = (issuer: string) => `${issuer}/v1/inter-agency`;
const purpose = "BODYA_INVIGILATOR_ELIGIBILITY";
const item = (identifier: object) => ({ identifier, purpose });
const json = "Content-Type: application/json";

/** A secret for trying out the receiver; it is nobody's. */
const trySecret = "whsec_try_it_yourself";

export const key = {
  id: "key",
  lines: ({ issuer, apiKey, partnerId }) => `export API_KEY='${apiKey}'
export PARTNER_ID='${partnerId}'
curl --fail-with-body -sS ${api(issuer)}/health; echo`,
} satisfies Commands;

export const firstCall = {
  id: "first-call",
  lines: ({ issuer }) => `curl --fail-with-body -sS ${api(issuer)}/eligibility-check \\
  -H "Authorization: Bearer $API_KEY" \\
  -H "${json}" \\
  -H "Idempotency-Key: $(date +%s)-first" \\
  -d '${JSON.stringify(item({ regNo }))}' \\
  > envelope.json
cat envelope.json; echo`,
} satisfies Commands;

export const otherCalls = {
  id: "other-calls",
  lines: ({ issuer }) => `curl --fail-with-body -sS -H "Authorization: Bearer $API_KEY" \\
  ${api(issuer)}/lookup/by-reg-no/${encodeURIComponent(regNo)}; echo

curl --fail-with-body -sS -H "Authorization: Bearer $API_KEY" \\
  ${api(issuer)}/lookup/by-tid/${valid?.tId}; echo

curl --fail-with-body -sS -H "Authorization: Bearer $API_KEY" -H "${json}" \\
  ${api(issuer)}/lookup/by-nin -d '${JSON.stringify({ nin: valid?.nin })}'; echo

curl --fail-with-body -sS -H "Authorization: Bearer $API_KEY" -H "${json}" \\
  -H "Idempotency-Key: $(date +%s)-batch" \\
  ${api(issuer)}/batch \\
  -d '${JSON.stringify({ items: [item({ regNo }), item({ tId: expired?.tId })] })}'; echo`,
} satisfies Commands;

export const keep = {
  id: "keep",
  lines: ({ issuer }) => `curl --fail-with-body -sS ${api(issuer)}/.well-known/jwks.json > jwks.json
curl --fail-with-body -sS ${api(issuer)}/.well-known/key-history > key-history.jose`,
} satisfies Commands;

export const verifyWithTvs = {
  id: "verify-tvs",
  lines: ({ issuer }) => `tvs verify envelope.json --jwks jwks.json --key-history key-history.jose \\
  --issuer ${issuer} --audience "$PARTNER_ID"`,
} satisfies Commands;

/** Reads a certificate, which only the page for people makes. */
export const verifyCertificate = ({ issuer }: Surroundings) =>
  `tvs verify --qr certificate.pdf --jwks jwks.json --key-history key-history.jose \\
  --issuer ${issuer} --audience "$PARTNER_ID"`;

/** The library that `tvs verify` uses, out of the service's source. */
export const verifyWithLibrary = ({ issuer, partnerId }: Surroundings) =>
  `import { createKeySet } from "./src/partner/key-set.ts";
import { verifyEnvelope } from "./src/partner/verify-envelope.ts";

const expected = { issuer: "${issuer}", audience: "${partnerId}" };
const keys = await createKeySet({ jwks, keyHistory, issuer: expected.issuer });
const verdict = await verifyEnvelope(text, { keys, ...expected });
if (!verdict.valid) throw new Error(verdict.reason);`;

/** Fetches a package, which the test of this page leaves to the project's own. */
export const installJose = { id: "install-jose", lines: () => "npm install jose" } satisfies Commands;

export const verifyWithJose = {
  id: "verify-jose",
  lines: ({ issuer }) => `cat > verify.mjs <<'END'
import { readFileSync } from "node:fs";
import { env } from "node:process";
import { createLocalJWKSet, jwtVerify } from "jose";

const envelope = JSON.parse(readFileSync("envelope.json", "utf8"));
const keys = createLocalJWKSet(JSON.parse(readFileSync("jwks.json", "utf8")));
const { payload } = await jwtVerify(envelope.signature, keys, {
  algorithms: ["RS256"],
  issuer: "${issuer}",
  audience: env.PARTNER_ID,
  requiredClaims: ["sub", "iat", "result"],
});
if (payload.sub !== envelope.verificationId) throw new Error("the signature is of another verification");
const { status, eligible, reasons } = payload.result; // and not envelope.result
console.log({ status, eligible, reasons });
END
node verify.mjs`,
} satisfies Commands;

export const receiver = {
  id: "receiver",
  lines: () => `cat > receiver.mjs <<'END'
${receiverMjs.trimEnd()}
END
export WEBHOOK_SECRET='${trySecret}'
node receiver.mjs & RECEIVER=$!
sleep 1`,
} satisfies Commands;

/** The same receiver in other languages. */
export const receivers: readonly { readonly language: string; readonly source: string }[] = [
  { language: "Python", source: receiverPy },
  { language: "PHP", source: receiverPhp },
  { language: "Java", source: receiverJava },
  { language: "Go", source: receiverGo },
];

export const delivery = {
  id: "delivery",
  lines: () => `cat > send.mjs <<'END'
import { createHmac } from "node:crypto";
import { env } from "node:process";

const body = JSON.stringify({
  eventId: "try-1", eventType: "license.revoked", occurredAt: new Date().toISOString(),
  data: { tId: 1003, regNo: "TR/2019/LA/000003", licenseStatus: "REVOKED",
    certificateStatus: "VERIFIED", previousStatus: "VALID" },
});
const t = Math.floor(Date.now() / 1000);
const v1 = createHmac("sha256", env.WEBHOOK_SECRET).update(t + "." + body).digest("hex");
for (const signature of [\`t=\${t},v1=\${v1}\`, \`t=\${t},v1=\${"0".repeat(64)}\`]) {
  const answer = await fetch("http://127.0.0.1:9876", {
    method: "POST", body, headers: { "X-AGENCY-Signature": signature },
  });
  console.log(answer.status);
}
END
node send.mjs
kill $RECEIVER`,
} satisfies Commands;

/** Made-up teachers to try each answer with. */
export const teachers = sandboxTeachers.map(({ regNo: number, tId, nin, shows }) => ({
  regNo: number,
  tId,
  nin,
  shows,
}));

function durationText(ms: number): string {
  const [seconds, minutes] = [ms / 1000, ms / 60_000];
  if (seconds < 60) return `${seconds} s`;
  return minutes < 60 ? `${minutes} min` : `${minutes / 60} h`;
}

/** The waits between the attempts of a delivery, as a sentence has them. */
export const retryWaits = retryStepsMs
  .map(durationText)
  .join(", ")
  .replace(/, ([^,]+)$/, " and $1");
