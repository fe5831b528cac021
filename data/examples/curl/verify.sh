#!/bin/sh
# Verifies one envelope offline. Any shell with gzip, jq 1.6 and openssl 1.1.1 or later (tested with jq 1.6, OpenSSL 3.0).
#   sh verify.sh envelope.json jwks.json key-history.jose ISSUER YOUR_PARTNER_ID [offline-pack.json]
# Prints "valid" and exits 0, or prints the reason: 1 is refused, 2 cannot be decided with these files.
# Of a batch response, each member of "results" is an envelope. Fetch the key files from the service yourself.
# A sixth word, the service's offline pack or a status list, tells whether the answer was withdrawn since.
set -fu
file=$1 jwks=$2 history=$3 issuer=$4 audience=$5 lists=${6:-}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

refuse() {
  echo "$1"
  case $1 in
    NOT_AN_ENVELOPE | TEXT_DAMAGED | KID_UNKNOWN | KEY_SET_UNREADABLE | KEY_HISTORY_UNREADABLE | FILE_UNREADABLE) exit 2 ;;
    STATUS_LIST_UNUSABLE | STATUS_LIST_STALE | VERIFIER_FAILED) exit 2 ;;
  esac
  exit 1
}

# check PROGRAM [OPTION…]: a program of jq that gives null, or the reason for refusing.
check() {
  program=$1
  shift
  reason=$(jq -n -r "$@" "$(cat "$work/rules.jq") $program") || refuse VERIFIER_FAILED
  [ "$reason" = null ] || refuse "$reason"
}

cat > "$work/rules.jq" <<'END'
def is_text: type == "string" and . != "";
# One text for each signature: no padding, no white space, no spare bits that are not zero.
def is_canonical: test("^[A-Za-z0-9_-]*\\z") and ((length % 4) as $rest |
  if $rest == 2 then test("[AQgw]\\z") elif $rest == 3 then test("[AEIMQUYcgkosw048]\\z") else $rest == 0 end);
def is_odd: (length % 4) as $rest |
  if $rest == 2 then test("[Qw]\\z") elif $rest == 3 then test("[EMUcks08]\\z")
  else test("[BDFHJLNPRTVXZbdfhjlnprtvxz13579_]\\z") end;
def is_odd_number: is_text and is_canonical and is_odd and (test("^A[A-P]") | not);
def is_time: . == null or (is_text and test("^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z\\z"));
def is_seconds: type == "number" and . == floor and . >= 0 and . < 253402300800;
# UTC to the second, for example 2026-03-01T09:30:00: such texts sort as the times do.
def second: todate[0:19];
def is_compromised($at): .compromisedSince != null and $at >= .compromisedSince[0:19];
def header_problem:
  if .alg != "RS256" then "HEADER_ALG"
  elif has("crit") or has("b64") then "HEADER_CRIT"
  elif has("jwk") or has("jku") or has("x5u") or has("x5c") then "HEADER_KEY"
  elif has("typ") and (.typ | is_text | not) then "HEADER_TYP"
  elif (.kid | is_text | not) then "HEADER_KID" else null end;
# One secret or weak key in a set, and nothing in the set can be trusted.
def key_problem:
  if type != "object" or (.kty | is_text | not) then "KEY_SET_KEY_MALFORMED"
  elif keys - ["k", "d", "p", "q", "dp", "dq", "qi", "oth"] != keys then "KEY_SET_PRIVATE_KEY"
  elif .kty != "RSA" then null
  elif (.kid | is_text | not) then "KEY_SET_KID_MISSING"
  elif (.use // "sig") != "sig" or (.alg // "RS256") != "RS256" then "KEY_SET_KEY_MALFORMED"
  elif (.n | is_odd_number | not) then "KEY_SET_KEY_MALFORMED"
  elif (.n | length < 342 or length > 1366 or (length == 342 and test("^[A-Za-f]"))) then "KEY_SET_MODULUS_SIZE"
  elif (.e | is_odd_number | not) or (.e | length) > 6 or .e == "AQ" then "KEY_SET_EXPONENT" else null end;
def first_problem(problem): first((.[] | problem | select(. != null)), null);
def repeats: length != (unique | length);
def set_problem: if type != "array" then "KEY_SET_UNREADABLE" else first_problem(key_problem)
  // (if [.[].kid | values] | repeats then "KEY_SET_DUPLICATE_KID" else null end) end;
def entry_problem:
  if type != "object" or (.jwk | key_problem != null or .kty != "RSA") then "KEY_HISTORY_MALFORMED"
  elif .kid != .jwk.kid or ([.activatedAt, .retiredAt, .compromisedSince] | all(is_time) | not)
    or ({pending: "", active: .activatedAt, retired: .retiredAt, compromised: .compromisedSince}[.state // "none"] == null)
  then "KEY_HISTORY_MALFORMED" else null end;
def history_problem($keys; $issuer; $signer): .keys as $entries |
  if (.iat | is_seconds | not) or ($entries | type) != "array" then "KEY_HISTORY_MALFORMED"
  elif .iss != $issuer then "KEY_HISTORY_ISSUER_MISMATCH"
  elif ($entries | first_problem(entry_problem)) then ($entries | first_problem(entry_problem))
  elif [$entries[].kid] | repeats then "KEY_SET_DUPLICATE_KID"
  elif any($entries[].jwk; . as $jwk | $keys[] | .kid == $jwk.kid and (.n != $jwk.n or .e != $jwk.e))
  then "KEY_SET_CONFLICT"
  elif all($entries[]; .kid != $signer) then "KEY_HISTORY_KID_UNKNOWN"
  elif (.iat | second) as $at | any($entries[]; .kid == $signer and is_compromised($at))
  then "KEY_HISTORY_KEY_COMPROMISED" else null end;
# Who has a compromised key can sign anything, and no key signs before or after its time.
def time_problem($at):
  if . == null then null # newer than the history
  elif is_compromised($at) then "KEY_COMPROMISED"
  elif .activatedAt == null or $at < .activatedAt[0:19] then "KEY_OUTSIDE_WINDOW"
  elif .retiredAt != null and $at > .retiredAt[0:19] then "KEY_OUTSIDE_WINDOW" else null end;
def claims_problem($issuer; $audience):
  if (.aud | type) == "array" then "AUDIENCE_NOT_SINGLE"
  elif [.iss, .aud, .sub] | all(is_text) | not then "CLAIM_TYPE"
  elif [(if has("exp") then .exp else 0 end), (if has("nbf") then .nbf else 0 end)] | all(type == "number") | not
  then "CLAIM_TYPE"
  elif .iss != $issuer then "ISSUER_MISMATCH"
  elif .aud != $audience then "AUDIENCE_MISMATCH"
  elif .iat > now + 60 then "ISSUED_IN_FUTURE"
  elif has("exp") and .exp <= now - 60 then "TOKEN_EXPIRED"
  elif has("nbf") and .nbf > now + 60 then "TOKEN_NOT_YET_VALID" else null end;
# The answer must not contradict itself, or who reads one member of it is misled.
def result_problem:
  if ([.found, .eligible] | all(type == "boolean"))
    and (.status as $status | any("VALID", "EXPIRED", "NOT_FOUND", "REVOKED"; . == $status))
    and (.reasons | type == "array" and all(type == "string"))
    and (.eligible == false or (.found and .status == "VALID"))
    and (.found or (.status == "NOT_FOUND" and ([.teacher, .license, .certificate] | all(. == null))))
  then null else "RESULT_MALFORMED" end;
# The answer's place in a status list, if it names one.
def place_problem: if has("status") | not then null
  elif (.status | type == "object" and (.status_list | type == "object"
    and (.idx | type == "number" and . == floor and . >= 0 and . < 9007199254740992) and (.uri | is_text)))
  then null else "CLAIM_TYPE" end;
# A list with a good signature, by a key that was in use and never compromised, of the address that the answer names.
def list_problem($uri; $key):
  if .sub != $uri or (.iat | is_seconds | not) or (has("exp") and (.exp | type) != "number") then "STATUS_LIST_UNUSABLE"
  elif $key.compromisedSince != null or (.iat | second) as $at | $key | time_problem($at) then "STATUS_LIST_UNUSABLE"
  elif (.status_list | type == "object" and (.lst | is_text and is_canonical)
    and (.bits as $bits | any(1, 2, 4, 8; . == $bits)) | not) then "STATUS_LIST_UNUSABLE" else null end;
# fromdate also reads 30 February, as 2 March.
def time_of: capture("^(?<time>\\d{4}-\\d\\d-\\d\\dT([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d)(\\.\\d{1,9})?(Z|(?<sign>[+-])(?<hours>[01]\\d|2[0-3]):(?<minutes>[0-5]\\d))\\z")
  | (.time + "Z") as $utc | select(($utc | fromdate | todate) == $utc)
  | ($utc | fromdate) - (if .sign == null then 0 else
    (.sign + "1" | sub("\\+"; "") | tonumber) * ((.hours | tonumber) * 3600 + (.minutes | tonumber) * 60) end);
# Everything outside the signature is a copy that anybody can change.
def copy_problem($claims; $kid):
  if .result != $claims.result then "OUTER_RESULT_DIFFERS"
  elif .issuer != $claims.iss then "OUTER_ISSUER_DIFFERS"
  elif .audience != $claims.aud then "OUTER_AUDIENCE_DIFFERS"
  elif .signatureKid != $kid then "OUTER_KID_DIFFERS"
  elif .verificationId != $claims.sub then "OUTER_VERIFICATION_ID_DIFFERS"
  elif [.verifiedAt | time_of] != [$claims.iat] then "OUTER_VERIFIED_AT_DIFFERS" else null end;
END

# plain FILE NAME: editors and shells save UTF-16, or put a mark before UTF-8.
plain() {
  case $(head -c 4 "$1" | od -An -tx1 | tr -d ' \n') in
    efbbbf*) tail -c +4 "$1" ;;
    fffe*) tail -c +3 "$1" | iconv -f UTF-16LE -t UTF-8 ;;
    feff*) tail -c +3 "$1" | iconv -f UTF-16BE -t UTF-8 ;;
    ??00??00) iconv -f UTF-16LE -t UTF-8 "$1" ;;
    00??00??) iconv -f UTF-16BE -t UTF-8 "$1" ;;
    *) cat "$1" ;;
  esac > "$work/$2" 2> "$work/said" || refuse TEXT_DAMAGED
}

# is_folded FILE: whether mail has folded, quoted or framed a signature: that forges nothing, and proves nothing.
is_folded() {
  [ "$(LC_ALL=C tr -d 'A-Za-z0-9_.=/+\000-\010-' < "$1" | wc -c)" -gt 0 ] &&
    LC_ALL=C tr -dc 'A-Za-z0-9_.-' < "$1" | LC_ALL=C grep -Eq '\.eyJ[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{100}'
}

# is_damaged FILE: the same of JSON: cut off, folded, quoted-printable, in HTML, or with curly quotation marks and hard
# spaces.
is_damaged() {
  is_folded "$1" || return 1
  case $(LC_ALL=C tr -d '[:space:]' < "$1" | tail -c 1) in '}' | ']') ;; *) return 0 ;; esac
  iconv -f UTF-8 -t UTF-8 "$1" > "$work/utf8" 2>&1 || return 0
  LC_ALL=C grep -Eq "eyJ[A-Za-z0-9_.-]*([[:space:]]|\$)|=3D|=.?\$|&quot;|$(printf '\342\200|\302\240')" "$1"
}

# object FILE REASON: jq keeps the last of two members with one name; then more values are written than are read.
object() {
  iconv -f UTF-8 -t UTF-8 "$1" > "$work/utf8" 2>&1 || refuse "$2"
  # jq skips a mark, which no signed text has.
  [ "$(head -c 3 "$1" | od -An -tx1 | tr -d ' \n')" != efbbbf ] || refuse "$2"
  # It also reads NaN, 01, .5 and +1: what remains without the texts must be marks, words and numbers.
  LC_ALL=C sed -E 's/"(\\.|[^"\\])*"//g' "$1" | tr -s ' \t\r\n{}[]:,' '[\n*]' |
    grep -Evq '^(|true|false|null|-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?)$' && refuse "$2"
  read=$(jq -s 'if length == 1 and (.[0] | type == "object") then [.[0] | tostream | select(length == 2)] | length
    else error end' "$1" 2> "$work/said") || refuse "$2"
  written=$(jq -n --stream '[inputs | select(length == 2)] | length' "$1")
  [ "$written" = "$read" ] || refuse JSON_DUPLICATE_MEMBER
}

# decode TEXT: base64url to bytes.
decode() {
  padding=$(printf '%*s' $(((4 - ${#1} % 4) % 4)) '' | tr ' ' '=')
  printf '%s%s' "$1" "$padding" | tr '_-' '/+' | openssl base64 -d -A
}

# open_jws JWS NAME: its header must not steer anything: RS256 alone, no extensions, no key of its own.
open_jws() {
  # A list is longer than one word of a command may be.
  printf '%s' "$1" > "$work/$2.jws"
  check '$jws / "." | if length != 3 then "JWS_MALFORMED" elif all(is_canonical) then null
    else "BASE64URL_NOT_CANONICAL" end' --rawfile jws "$work/$2.jws"
  rest=${1#*.}
  decode "${1%%.*}" > "$work/$2.header"
  decode "${rest%.*}" > "$work/$2.payload"
  decode "${1##*.}" > "$work/$2.signature"
  printf '%s' "${1%.*}" > "$work/$2.signed"
  object "$work/$2.header" JWS_MALFORMED
  check '$header[0] | header_problem' --slurpfile header "$work/$2.header"
}

hex() {
  decode "$1" | od -An -v -tx1 | tr -d ' \n'
}

# check_signature NAME KID KEYS REASON: openssl reads a key in DER, which is made of its two numbers.
check_signature() {
  n=$(jq -r --arg kid "$2" '.[] | select(.kid == $kid) | .n' "$3")
  e=$(jq -r --arg kid "$2" '.[] | select(.kid == $kid) | .e' "$3")
  printf '%s\n' 'asn1=SEQUENCE:spki' '[spki]' 'a=SEQUENCE:rsa' 'k=BITWRAP,SEQUENCE:key' '[rsa]' \
    'o=OID:rsaEncryption' 'p=NULL' '[key]' "n=INTEGER:0x$(hex "$n")" "e=INTEGER:0x$(hex "$e")" > "$work/key.conf"
  openssl asn1parse -genconf "$work/key.conf" -noout -out "$work/key.der"
  openssl pkey -pubin -inform DER -in "$work/key.der" -out "$work/key.pem"
  openssl dgst -sha256 -verify "$work/key.pem" -signature "$work/$1.signature" "$work/$1.signed" \
    > "$work/said" 2>&1 || refuse "$4"
}

for one in "$file" "$jwks" "$history" ${lists:+"$lists"}; do [ -r "$one" ] || refuse FILE_UNREADABLE; done
plain "$file" given
plain "$jwks" jwks
plain "$history" history
[ -z "$lists" ] || plain "$lists" listed
file=$work/given jwks=$work/jwks history=$work/history lists=${lists:+$work/listed}

# A web page or an error answer is not a forgery: a text without any part of an envelope is undecided.
tr -d '\000' < "$file" | LC_ALL=C grep -Eqi \
  'eyJ[a-z0-9_-]{8}|"(signature|signatureKid|result|verificationId)"[[:space:]]*:|\\u00[4-7]' || refuse NOT_AN_ENVELOPE
envelope=null
jws=$(tr '\000\r' '\001\n' < "$file")
if tr -d '\000' < "$file" | LC_ALL=C tr -d '[:space:]' | LC_ALL=C grep -q '^[[{"]'; then
  reason=JSON_MALFORMED
  ! is_damaged "$file" || reason=TEXT_DAMAGED
  object "$file" "$reason"
  jq -j '.signature | strings' "$file" > "$work/signature" 2> "$work/said"
  ! is_folded "$work/signature" || refuse TEXT_DAMAGED
  check '$envelope[0] | [.verificationId, .verifiedAt, .issuer, .audience, .signature, .signatureKid] as $texts
    | if ($texts | all(type == "string") | not) or (.result | type != "object") then "ENVELOPE_MALFORMED"
    elif .signature | test("[^A-Za-z0-9_.-]") then "BASE64URL_NOT_CANONICAL" else null end' \
    --slurpfile envelope "$file"
  envelope=$(cat "$file")
  jws=$(jq -r .signature "$file")
fi
printf '%s' "$jws" > "$work/signature"
! is_folded "$work/signature" || refuse TEXT_DAMAGED
open_jws "$jws" envelope
kid=$(jq -r .kid "$work/envelope.header")
# Statements, key histories and status lists are signed with the same keys, and have types of their own.
check 'if $header[0] | has("typ") and .typ != "JWT" then "HEADER_TYP" else null end' --slurpfile header "$work/envelope.header"

object "$jwks" KEY_SET_UNREADABLE
check '$set[0].keys | set_problem' --slurpfile set "$jwks"
jq '[.keys[] | select(.kty == "RSA")]' "$jwks" > "$work/keys"

# The history says when each key was in use, and a key of the set has signed it.
set -- $(tr -d '\000' < "$history")
check 'if $text | test("^[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]*\\z") then null
  else "KEY_HISTORY_UNREADABLE" end' --arg text "$*"
open_jws "$1" history
signer=$(jq -r .kid "$work/history.header")
check 'if $header[0].typ != "key-history+jwt" then "KEY_HISTORY_MALFORMED"
  elif all($keys[0][]; .kid != $signer) then "KEY_HISTORY_NOT_ANCHORED" else null end' \
  --slurpfile header "$work/history.header" --slurpfile keys "$work/keys" --arg signer "$signer"
check_signature history "$signer" "$work/keys" KEY_HISTORY_SIGNATURE_INVALID
object "$work/history.payload" KEY_HISTORY_MALFORMED
check '$history[0] | history_problem($keys[0]; $issuer; $signer)' --slurpfile history "$work/history.payload" \
  --slurpfile keys "$work/keys" --arg issuer "$issuer" --arg signer "$signer"

# A key that the set no longer has was taken out for a reason; it comes back only to be refused.
jq -s '.[0] + [.[1].keys[] | select(.compromisedSince != null) | .jwk]' "$work/keys" "$work/history.payload" \
  > "$work/all"
jq -e --arg kid "$kid" 'any(.[]; .kid == $kid)' "$work/all" > "$work/said" || refuse KID_UNKNOWN
jq --arg kid "$kid" '[first(.[] | select(.kid == $kid))]' "$work/all" > "$work/one"
check_signature envelope "$kid" "$work/one" SIGNATURE_INVALID
object "$work/envelope.payload" JWS_MALFORMED
check '$claims[0] as $claims | $claims
  | if .iat | is_seconds | not then "CLAIM_TYPE" else
    (first($history[0].keys[] | select(.kid == $kid)) // null | time_problem($claims.iat | second))
    // (if $claims.result | type == "object" then null else "CLAIM_MISSING" end)
    // ($claims | claims_problem($issuer; $audience)) // ($claims.result | result_problem) // ($claims | place_problem)
    // (if $envelope == null then null else $envelope | copy_problem($claims; $kid) end) end' \
  --slurpfile claims "$work/envelope.payload" --slurpfile history "$work/history.payload" --arg kid "$kid" \
  --arg issuer "$issuer" --arg audience "$audience" --argjson envelope "$envelope"

# open_list JWS: writes its claims and its places, unpacked to its bits and no further; gzip reads the same with another
# head, and says that the end is missing.
open_list() {
  open_jws "$1" list
  kid=$(jq -r .kid "$work/list.header")
  check 'if $header[0].typ == "statuslist+jwt" and any($keys[0][]; .kid == $kid) then null
    else "STATUS_LIST_UNUSABLE" end' --slurpfile header "$work/list.header" --slurpfile keys "$work/all" --arg kid "$kid"
  jq --arg kid "$kid" '[first(.[] | select(.kid == $kid))]' "$work/all" > "$work/one"
  check_signature list "$kid" "$work/one" STATUS_LIST_UNUSABLE
  object "$work/list.payload" STATUS_LIST_UNUSABLE
  check '(first($history[0].keys[] | select(.kid == $kid)) // null) as $key | $list[0] | list_problem($uri; $key)' \
    --slurpfile history "$work/history.payload" --slurpfile list "$work/list.payload" --arg kid "$kid" --arg uri "$uri"
  most=$((131072 * $(jq .status_list.bits "$work/list.payload")))
  decode "$(jq -r .status_list.lst "$work/list.payload")" > "$work/packed"
  { printf '\037\213\010\0\0\0\0\0\0\003' && tail -c +3 "$work/packed" && printf '\0\0\0\0\0\0\0\0'; } |
    gzip -dc 2> "$work/said" | head -c $((most + 1)) > "$work/places"
  [ "$(wc -c < "$work/places")" -le "$most" ] || refuse STATUS_LIST_UNUSABLE
}

# value_at IDX: the value at a place of the list that was opened; -1 where it has no such place.
value_at() {
  bits=$(jq .status_list.bits "$work/list.payload")
  byte=$(od -An -tu1 -j $(($1 * bits / 8)) -N1 "$work/places" 2> "$work/said" | tr -d ' ')
  if [ -n "$byte" ]; then echo $((byte >> $1 * bits % 8 & (1 << bits) - 1)); else echo -1; fi
}

# What a list cannot tell is not known: that it was not withdrawn, only a list says that counts.
uri=$(jq -r '.status.status_list.uri // ""' "$work/envelope.payload")
if [ -n "$lists" ] && [ -n "$uri" ]; then
  if tr -d '[:space:]' < "$lists" | grep -q '^{'; then
    object "$lists" STATUS_LIST_UNUSABLE
    check 'if $pack[0].statusLists | type == "array" and all(is_text) then null else "STATUS_LIST_UNUSABLE" end' \
      --slurpfile pack "$lists"
    jq -r '.statusLists[]' "$lists" > "$work/lists"
  else
    printf '%s\n' "$(tr -d '\000\r' < "$lists")" > "$work/lists"
  fi
  idx=$(jq '.status.status_list.idx + 0' "$work/envelope.payload")
  newest=-1 value=-1
  while read -r one; do
    (open_list "$one") > "$work/reason" 2>&1 || continue
    iat=$(jq .iat "$work/list.payload")
    found=$(value_at "$idx")
    # Of two lists of one second the one that tells of more counts, whichever was given first.
    [ "$iat" -gt "$newest" ] || { [ "$iat" -eq "$newest" ] && [ "$found" -gt "$value" ]; } || continue
    newest=$iat value=$found
    cp "$work/list.payload" "$work/newest"
  done < "$work/lists"
  [ "$newest" -ge 0 ] || refuse STATUS_LIST_UNUSABLE
  check '$claims[0] as $claims | $list[0] | if $claims.status.status_list.uri
      | startswith($issuer + "/v1/inter-agency/status/") | not then "STATUS_LIST_UNUSABLE"
    elif .iat > now + 60 then "STATUS_LIST_UNUSABLE"
    elif now - .iat > 7 * 86400 or (has("exp") and now >= .exp) then "STATUS_LIST_STALE"
    elif $value < 0 then "STATUS_LIST_UNUSABLE"
    # Only a yes can be withdrawn: eligible, or a licence that was VALID.
    elif $value == 0 or (($claims.result.eligible or $claims.result.license.status == "VALID") | not) then null
    # What was withdrawn before the answer had been lifted when it was signed.
    elif .iat < $claims.iat - 60 then "STATUS_LIST_STALE" else "WITHDRAWN_SINCE" end' \
    --slurpfile claims "$work/envelope.payload" --slurpfile list "$work/newest" --arg issuer "$issuer" \
    --argjson value "$value"
fi
echo valid
