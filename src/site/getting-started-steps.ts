/** The commands, programs and tables that the getting-started page shows. */

import { type SandboxTeacher, stateTeachers, trapTeachers, triggered } from "../domain/sandbox/teachers.ts";
import type { CodeLanguage, ExampleKind } from "./getting-started-languages.ts";

/** What the commands are written for. */
export type Surroundings = {
  /** The service's public address, without a slash at its end. */
  readonly issuer: string;
  readonly sandbox: boolean;
  /** Whether this reader is shown the sandbox's key, */
  readonly offered: boolean;
  /** and whether it opens nothing any more. */
  readonly ended: boolean;
  /** What stands in for the reader's own key and id, where the real ones cannot be shown. */
  readonly apiKey: string;
  readonly partnerId: string;
  /** The language of the examples. */
  readonly code: CodeLanguage;
  /** What links carry, so that the next page speaks this language. */
  readonly query: string;
  /** Whether the page's foot says how to reach the operator. */
  readonly hasContact: boolean;
};

const [valid, expired] = stateTeachers;
const watched = `watch/${encodeURIComponent(triggered.regNo)}`;
const regNo = valid?.regNo ?? "";
const api = (issuer: string) => `${issuer}/v1/inter-agency`;
const purpose = "BODYA_INVIGILATOR_ELIGIBILITY";
const item = (identifier: object) => ({ identifier, purpose });

/** A secret for trying out the receiver; it is nobody's. */
const trySecret = "whsec_try_it_yourself";

const runs: Readonly<Record<ExampleKind, (run: string, at: Surroundings) => string>> = {
  ask: (run, { issuer }) => `${run} ${issuer} ${purpose} ${regNo}
cat envelope.json; echo`,
  verify: (run, { issuer }) => `${run} envelope.json jwks.json key-history.jose \\
  ${issuer} "$PARTNER_ID"`,
  events: (run, { issuer }) => `${run} ${issuer}`,
  receive: (run) => `${run} & RECEIVER=$!
for TRY in $(seq 30); do
  curl -s -o answer.txt http://127.0.0.1:9876/ && break
  sleep 1
done`,
};

const secretLine = `export TVS_WEBHOOK_SECRET='${trySecret}'`;

/** Fetches a file of the chosen language from the service and runs it, as decision D14.2 has it for all of them. */
function runExample(kind: ExampleKind, at: Surroundings): string {
  const { id, run, serve = run, isServer } = at.code;
  const { file } = at.code[kind];
  const isOnlyFetched = kind === "receive" && !isServer;
  return [
    `curl --fail-with-body -sSO ${api(at.issuer)}/examples/${id}/${file}`,
    ...(kind === "receive" ? [secretLine] : []),
    ...(isOnlyFetched ? [] : [runs[kind]((kind === "receive" ? serve : run)(file), at)]),
  ].join("\n");
}

/** A delivery as the service would send it, signed by who tries the receiver. */
const signedBody = `printf '%s' '{"eventId":"try-1","eventType":"license.revoked",'\\
'"occurredAt":"2026-03-01T09:30:00Z","data":{"tId":1003,'\\
'"regNo":"TR/2019/LA/000003","licenseStatus":"REVOKED",'\\
'"certificateStatus":"VERIFIED","previousStatus":"VALID"}}' > body.json
T=$(date +%s)
V1=$( (printf '%s.' "$T"; cat body.json) \\
  | openssl dgst -sha256 -hmac "$TVS_WEBHOOK_SECRET" -r | cut -c1-64)
FORGED=$(printf '%064d' 0)`;

/** Needs nothing but what the first call needed, and OpenSSL: the receiver may be in any language. */
const sentDelivery = `for V in "$V1" "$FORGED"; do
  curl -sS -o answer.txt -w '%{http_code}\\n' http://127.0.0.1:9876/ \\
    -H "X-AGENCY-Signature: t=$T,v1=$V" --data-binary @body.json
done
kill $RECEIVER`;

/** For a language that is no server. */
const keptDelivery = (receiver: string) => `${receiver} --check body.json "t=$T,v1=$V1" "$T"
${receiver} --check body.json "t=$T,v1=$FORGED" "$T" || true`;

/** Commands to paste into one shell, one after the other: later ones use what earlier ones have set and saved. */
export const commands = {
  key: ({ issuer, apiKey, partnerId }) => `export API_KEY='${apiKey}'
export PARTNER_ID='${partnerId}'
api() { curl --fail-with-body -sS -H "Authorization: Bearer $API_KEY" \\
  -H "Content-Type: application/json" "${api(issuer)}/$@"; }
api me; echo`,
  /** What the examples of a language need besides it. */
  prepare: ({ code }) => code.prepare ?? "",
  ask: (at) => runExample("ask", at),
  verify: (at) => runExample("verify", at),
  receive: (at) => runExample("receive", at),
  /** Fetches what was told, in the chosen language. */
  events: (at) => runExample("events", at),
  /** One question, sent again as after a lost answer. */
  retry: () => `QUESTION=$(date +%s)-question
for TRY in 1 2; do
  api eligibility-check -H "Idempotency-Key: $QUESTION" \\
    -d '${JSON.stringify(item({ regNo }))}' | grep -o '"verificationId":"[^"]*"'
done`,
  "other-calls": () => `api lookup/by-reg-no/${encodeURIComponent(regNo)}; echo

api lookup/by-tid/${valid?.tId}; echo

api lookup/by-nin -d '${JSON.stringify({ nin: valid?.nin })}'; echo

api batch -H "Idempotency-Key: $(date +%s)-batch" \\
  -d '${JSON.stringify({ items: [item({ regNo }), item({ tId: expired?.tId })] })}'; echo`,
  watch: () => `api ${watched} -X PUT
api me/told -X PUT -d '{"teachers":"watched"}'; echo`,
  /** Makes a key, and with that one deletes the one that made it. */
  rotate: () => `OLD=$(api me | grep -o '"credential":{"keyId":"[^"]*"' | cut -d'"' -f6)
NEW=$(api me/keys -X POST | grep -o '"apiKey":"[^"]*"' | cut -d'"' -f4)
echo "Keep this one: $NEW"
API_KEY=\${NEW:-$API_KEY}
api me/keys/$OLD -X DELETE; echo`,
  "verify-tvs": ({ issuer }) => `tvs verify envelope.json --jwks jwks.json --key-history key-history.jose \\
  --issuer ${issuer} --audience "$PARTNER_ID"`,
  /** The verifier as the service hands it out, for who writes JavaScript. */
  "verify-library": ({ issuer }) => `curl --fail-with-body -sS ${api(issuer)}/verify.mjs > tvs-verifier.mjs
cat > check.mjs <<'END'
import { readFileSync } from "node:fs";
import { env } from "node:process";
import { createKeySet, verifyEnvelope } from "./tvs-verifier.mjs";

const read = (file) => readFileSync(file, "utf8");
const expected = { issuer: "${issuer}", audience: env.PARTNER_ID };
const keys = await createKeySet({ jwks: read("jwks.json"), keyHistory: read("key-history.jose"), issuer: expected.issuer });
const { valid, reason, result } = await verifyEnvelope(read("envelope.json"), { keys, ...expected });
console.log(valid ? result : reason); // and not the result outside of the signature
END
node check.mjs`,
  delivery: ({ code: { isServer, run, receive } }) => `${signedBody}
${isServer ? sentDelivery : keptDelivery(run(receive.file))}`,
} satisfies Readonly<Record<string, (at: Surroundings) => string>>;

export type TeacherToTry = Readonly<Record<"regNo" | "tId" | "nin", string | number>>;

const toTry = ({ regNo: number, tId, nin }: SandboxTeacher): TeacherToTry => ({
  regNo: number,
  tId: tId ?? "–",
  nin: nin ?? "–",
});

/** Made-up teachers to try each answer with, and those that programs stumble over. */
export const teachers = { states: stateTeachers.map(toTry), traps: trapTeachers.map(toTry) };

/** Where the sandbox is this machine's: its own events, and one that is forged. */
export const sandboxEvents = `tvs listen --forward http://127.0.0.1:9876
tvs trigger license.revoked
tvs trigger forged`;

/** What the page's own buttons ask for, in the order in which they are pressed; paths begin where the page stands. */
export const trySteps = {
  me: { method: "GET", path: "me" },
  watch: { method: "PUT", path: watched },
  told: { method: "PUT", path: "me/told", body: '{"teachers":"watched"}' },
  cause: { method: "POST", path: "getting-started/events" },
  events: { method: "GET", path: "events" },
  makeKey: { method: "POST", path: "me/keys" },
  deleteKey: { method: "DELETE", path: "me/keys/{keyId}" },
} satisfies Readonly<Record<string, { method: string; path: string; body?: string }>>;

export type TryStep = keyof typeof trySteps;
