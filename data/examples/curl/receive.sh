#!/bin/sh
# Checks a webhook delivery that you kept; a shell cannot listen. Needs openssl (tested with OpenSSL 3.0).
#   TVS_WEBHOOK_SECRET='whsec_...' sh receive.sh --check BODY_FILE SIGNATURE UNIX_SECONDS
# Prints "valid" and exits 0, or prints the reason and exits 1. While openssl runs, other users of the machine can see
# the secret among its arguments: for trying out, and on a machine of your own.
set -u
LC_ALL=C export LC_ALL
[ -n "${TVS_WEBHOOK_SECRET:-}" ] || { echo 'set TVS_WEBHOOK_SECRET' >&2; exit 2; }
case $TVS_WEBHOOK_SECRET in
  *[!\!-~]*) echo 'set TVS_WEBHOOK_SECRET to the secret alone: no spaces, line ends or byte order mark' >&2; exit 2 ;;
esac
[ "${1:-}" = --check ] && [ $# -eq 4 ] || { echo 'usage: receive.sh --check BODY_FILE SIGNATURE UNIX_SECONDS' >&2; exit 2; }
body=$2 header=$3 now=$4

refuse() {
  echo "$1"
  exit 1
}

pattern='t=(0|[1-9][0-9]{0,11}),v1=([0-9a-f]{64})(,v1=([0-9a-f]{64}))?'
[ "$(printf '%s' "$header" | wc -l)" -eq 0 ] || refuse SIGNATURE_HEADER_MALFORMED
printf '%s\n' "$header" | LC_ALL=C grep -Eqx "$pattern" || refuse SIGNATURE_HEADER_MALFORMED
time=${header%%,*}
time=${time#t=}
# The bytes of the body as they came, after the time and a dot; the key is the whole text of the secret.
digest=$({ printf '%s.' "$time"; cat "$body"; } | openssl dgst -sha256 -hmac "$TVS_WEBHOOK_SECRET" | sed 's/.* //')
case $header, in
  *,v1="$digest",*) ;;
  *) refuse SIGNATURE_MISMATCH ;;
esac
age=$((now - time))
[ "$age" -le 300 ] && [ "$age" -ge -300 ] || refuse OUTSIDE_REPLAY_WINDOW
echo valid
