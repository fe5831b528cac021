#!/bin/sh
# Asks about one teacher. Needs curl 7.76 or later (tested with curl 7.88).
#   API_KEY='tvs_test_...' sh ask.sh ISSUER PURPOSE REGISTRATION_NUMBER
# Saves the answer and the keys that prove it: envelope.json, jwks.json, key-history.jose. Verify before you rely on it.
set -eu
api=$1/v1/inter-agency purpose=$2 regNo=$3

# Asks again up to three times what the service could not answer, with the same Idempotency-Key; fails with what it refused.
# A redirect is a failure too: a key is for the address that it is meant for, and not for wherever that leads.
call() {
  curl --fail-with-body -sS --location --max-redirs 0 --max-time 15 --retry 3 --retry-connrefused "$@"
}

# The key goes to curl by its standard input: on the command line, other users of the machine could read it.
printf 'header = "Authorization: Bearer %s"\n' "$API_KEY" | call --config - "$api/eligibility-check" \
  -H 'Content-Type: application/json' \
  -H "Idempotency-Key: $(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')" \
  -d "{\"identifier\":{\"regNo\":\"$regNo\"},\"purpose\":\"$purpose\"}" > envelope.json || { cat envelope.json >&2; exit 1; }
call "$api/.well-known/jwks.json" > jwks.json
call "$api/.well-known/key-history" > key-history.jose
cat envelope.json
echo
