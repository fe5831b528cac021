#!/bin/sh
# Fetches the events that are new, a line for each. Needs curl 7.76 or later, and jq (tested with curl 7.88, jq 1.6).
#   API_KEY='tvs_test_...' sh events.sh ISSUER
# Run it every minute. The file events.iterator says how far it has come; what fails comes the next time, so a line can
# come twice, and none is left out.
set -eu
api=$1/v1/inter-agency cursor=events.iterator done=false

until [ "$done" = true ]; do
  set --
  [ ! -f "$cursor" ] || set -- --data-urlencode "after@$cursor"
  : > head.txt
  : > page.json
  # The key goes to curl by its standard input: on the command line, other users of the machine could read it. It is for
  # this address, and not for wherever a redirect leads.
  printf 'header = "Authorization: Bearer %s"\n' "$API_KEY" |
    curl --fail-with-body -sS --location --max-redirs 0 --max-time 15 --config - -G "$@" "$api/events" \
      -D head.txt -o page.json || { grep -i '^X-Error-Code:' head.txt || :; cat page.json; exit 1; } >&2
  jq -r '.data[] | "\(.eventId) \(.eventType) \(.data.regNo)"' page.json
  jq -j '.iterator // empty' page.json > "$cursor.new"
  [ ! -s "$cursor.new" ] || mv "$cursor.new" "$cursor"
  done=$(jq .done page.json)
done
rm -f page.json head.txt "$cursor.new"
