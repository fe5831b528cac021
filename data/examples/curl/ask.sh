#!/bin/sh
# Asks about one teacher. Needs curl 7.76 or later, and jq (tested with curl 7.88, jq 1.6).
#   API_KEY='tvs_test_...' sh ask.sh ISSUER PURPOSE REGISTRATION_NUMBER
# Saves the answer and the keys that prove it: envelope.json, jwks.json, key-history.jose. Verify before you rely on it.
set -eu
api=$1/v1/inter-agency purpose=$2 regNo=$3 begunAt=$(date +%s)

# Asks again up to three times what the service could not answer, with the same Idempotency-Key; fails with what it refused.
# A redirect is a failure too: a key is for the address that it is meant for, and not for wherever that leads. Answers go to
# a file by -o: to a pipe or by >, the refused attempts would stand before them.
call() {
  curl --fail-with-body -sS --location --max-redirs 0 --max-time 15 --retry 3 --retry-connrefused "$@"
}

# The key goes to curl by its standard input: on the command line, other users of the machine could read it.
printf 'header = "Authorization: Bearer %s"\n' "$API_KEY" | call --config - "$api/eligibility-check" \
  -H 'Content-Type: application/json' \
  -H "Idempotency-Key: $(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')" \
  -d "$(jq -nc --arg regNo "$regNo" --arg purpose "$purpose" '{identifier: {$regNo}, $purpose}')" \
  -D head.txt -o answer.json || { grep -i '^X-Error-Code:' head.txt || :; cat answer.json; exit 1; } >&2

# Whether this is the answer to the question: somebody on the way may have kept a genuine one to another.
jq -e --arg regNo "$regNo" --argjson begunAt "$begunAt" --rawfile head head.txt '
  (.verifiedAt[:19] + "Z" | fromdateiso8601) as $signedAt | .verificationId as $id
  | ((.result.found | not) or .result.certificate.regNo == ($regNo | gsub("\\s"; "") | ascii_upcase))
    and ($head | test("\nX-Verification-Id: *\($id)\r"; "i"))
    and $signedAt >= $begunAt - 60 and $signedAt <= now + 60
' answer.json > /dev/null || { echo 'this answers another question' >&2; exit 1; }
mv answer.json envelope.json
rm head.txt
call "$api/.well-known/jwks.json" -o jwks.json
call "$api/.well-known/key-history" -o key-history.jose
jq -c '.result | {found, status, eligible, reasons}' envelope.json
