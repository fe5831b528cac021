# The commands of the page "Getting started", as they are pasted into one shell, one after the other: later ones use
# what earlier ones have set and saved. Each part begins with its name; the page replaces {{braces}}.

#: key
export API_KEY='{{apiKey}}'
export PARTNER_ID='{{partnerId}}'
api() { call=$1; shift; curl --fail-with-body -sS -H "Authorization: Bearer $API_KEY" \
  -H "Content-Type: application/json" "$@" "{{api}}/$call"; }
api me; echo

#: fetch
curl --fail-with-body -sSO {{api}}/examples/{{language}}/{{file}}

#: ask
{{run}} {{issuer}} BODYA_INVIGILATOR_ELIGIBILITY {{regNo}}
cat envelope.json; echo

#: verify
{{run}} envelope.json jwks.json key-history.jose \
  {{issuer}} "$PARTNER_ID"

#: events
{{run}} {{issuer}}

#: receive
{{run}} & RECEIVER=$!
for TRY in $(seq 30); do
  curl -s -o answer.txt http://127.0.0.1:9876/ && break
  sleep 1
done

#: secret
export TVS_WEBHOOK_SECRET='whsec_try_it_yourself'

#: sign
printf '%s' '{"eventId":"try-1","eventType":"license.revoked",'\
'"occurredAt":"2026-03-01T09:30:00Z","data":{"tId":1003,'\
'"regNo":"TR/2019/LA/000003","licenseStatus":"REVOKED",'\
'"certificateStatus":"VERIFIED","previousStatus":"VALID"}}' > body.json
T=$(date +%s)
V1=$( (printf '%s.' "$T"; cat body.json) \
  | openssl dgst -sha256 -hmac "$TVS_WEBHOOK_SECRET" -r | cut -c1-64)
FORGED=$(printf '%064d' 0)

#: send
for V in "$V1" "$FORGED"; do
  curl -sS -o answer.txt -w '%{http_code}\n' http://127.0.0.1:9876/ \
    -H "X-AGENCY-Signature: t=$T,v1=$V" --data-binary @body.json
done
kill "$RECEIVER"

#: check
{{run}} --check body.json "t=$T,v1=$V1" "$T"
{{run}} --check body.json "t=$T,v1=$FORGED" "$T" || true

#: retry
QUESTION=$(date +%s)-question
for TRY in 1 2; do
  api eligibility-check -H "Idempotency-Key: $QUESTION" \
    -d '{"identifier":{"regNo":"{{regNo}}"},"purpose":"BODYA_INVIGILATOR_ELIGIBILITY"}' | grep -o '"verificationId":"[^"]*"'
done

#: other-calls
api lookup/by-reg-no/{{regNoInPath}}; echo

api lookup/by-tid/{{tId}}; echo

api lookup/by-nin -d '{"nin":"{{nin}}"}'; echo

api batch -H "Idempotency-Key: $(date +%s)-batch" \
  -d '{"items":[{"identifier":{"regNo":"{{regNo}}"},"purpose":"BODYA_INVIGILATOR_ELIGIBILITY"},{"identifier":{"tId":{{expiredTId}}},"purpose":"BODYA_INVIGILATOR_ELIGIBILITY"}]}'; echo

#: watch
api {{watched}} -X PUT

#: verify-tvs
tvs verify envelope.json --jwks jwks.json --key-history key-history.jose \
  --issuer {{issuer}} --audience "$PARTNER_ID"

#: verify-library
curl --fail-with-body -sS {{api}}/verify.mjs > tvs-verifier.mjs
cat > check.mjs <<'END'
import { readFileSync } from "node:fs";
import { env } from "node:process";
import { createKeySet, verifyEnvelope } from "./tvs-verifier.mjs";

const read = (file) => readFileSync(file, "utf8");
const expected = { issuer: "{{issuer}}", audience: env.PARTNER_ID };
const keys = await createKeySet({ jwks: read("jwks.json"), keyHistory: read("key-history.jose"), issuer: expected.issuer });
const { valid, reason, result } = await verifyEnvelope(read("envelope.json"), { keys, ...expected });
console.log(valid ? result : reason); // and not the result outside of the signature
END
node check.mjs

#: sandbox-endpoint
export TVS_WEBHOOK_SECRET=$(tvs partners webhook set demo \
  http://localhost:9876 --sandbox --json | grep -o 'whsec_[^"]*')

#: sandbox-event
tvs trigger license.revoked
for TRY in $(seq 30); do
  tvs webhooks list --partner demo --state pending --sandbox --json \
    | grep -q eventId || break
  sleep 1
done
tvs webhooks list --partner demo --limit 1 --sandbox
kill "$RECEIVER"
