# Verifies one envelope offline. Python 3.9 or later, and PyJWT: pip install "pyjwt[crypto]" (tested with Python 3.11,
# PyJWT 2.6; Debian: apt install python3-jwt python3-cryptography).
#   python3 verify.py envelope.json jwks.json key-history.jose ISSUER YOUR_PARTNER_ID [offline-pack.json]
# Prints "valid" and exits 0, or prints the reason: 1 is refused, 2 cannot be decided with these files.
# Of a batch response, each member of "results" is an envelope. Fetch the key files from the service yourself.
# A sixth word, the service's offline pack or a status list, tells whether the answer was withdrawn since.
import base64
import json
import re
import sys
import time
import zlib
from datetime import datetime, timezone

import jwt
from jwt.algorithms import RSAAlgorithm

UNDECIDABLE = ["NOT_AN_ENVELOPE", "TEXT_DAMAGED", "KID_UNKNOWN", "KEY_SET_UNREADABLE", "KEY_HISTORY_UNREADABLE", "FILE_UNREADABLE",
               "STATUS_LIST_UNUSABLE", "STATUS_LIST_STALE"]
MAX_LIST_AGE = 7 * 86400
STATUSES = ["VALID", "EXPIRED", "NOT_FOUND", "REVOKED"]
UTC_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d"
ANY_TIME = re.compile(rf"(\d{{4}}-\d\d-\d\dT{CLOCK}:[0-5]\d)(\.\d{{1,9}})?(Z|[+-]{CLOCK})", re.ASCII)


class Refused(Exception):
    pass


def require(condition, reason):
    if not condition:
        raise Refused(reason)


def is_text(value):
    return isinstance(value, str) and value != ""


def is_whole(value):
    return isinstance(value, int) and not isinstance(value, bool)


def unique(pairs):
    """json keeps the last of two members with one name."""
    require(len(dict(pairs)) == len(pairs), "JSON_DUPLICATE_MEMBER")
    return dict(pairs)


def no_number(word):
    """json also reads NaN and Infinity."""
    raise ValueError(word)


def read_object(data, reason):
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=unique, parse_constant=no_number)
    except (ValueError, RecursionError):
        raise Refused(reason)
    require(isinstance(value, dict), reason)
    return value


def decode(part):
    """One text for each signature: decoders also accept padding, white space and spare bits."""
    require(is_text(part) and part.isascii(), "BASE64URL_NOT_CANONICAL")
    try:
        data = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except ValueError:
        raise Refused("BASE64URL_NOT_CANONICAL")
    require(base64.urlsafe_b64encode(data).rstrip(b"=") == part.encode(), "BASE64URL_NOT_CANONICAL")
    return data


def open_jws(token):
    """The header, which must not steer the library: RS256 alone, no extensions, no key of its own."""
    parts = token.split(".")
    require(len(parts) == 3, "JWS_MALFORMED")
    header = read_object(decode(parts[0]), "JWS_MALFORMED")
    require(header.get("alg") == "RS256", "HEADER_ALG")
    require("crit" not in header and "b64" not in header, "HEADER_CRIT")
    require(not {"jwk", "jku", "x5u", "x5c"} & set(header), "HEADER_KEY")
    require(is_text(header.get("typ", "JWT")), "HEADER_TYP")
    require(is_text(header.get("kid")), "HEADER_KID")
    payload = decode(parts[1])
    decode(parts[2])
    return header, payload


def verify_signature(token, jwk, reason):
    key = RSAAlgorithm.from_jwk(json.dumps({"kty": "RSA", "n": jwk["n"], "e": jwk["e"]}))
    try:
        jwt.PyJWS().decode(token, key, algorithms=["RS256"])
    except jwt.PyJWTError:
        raise Refused(reason)


def vet_key(jwk):
    """One secret or weak key in a set, and nothing in the set can be trusted."""
    require(isinstance(jwk, dict) and is_text(jwk.get("kty")), "KEY_SET_KEY_MALFORMED")
    require(not {"k", "d", "p", "q", "dp", "dq", "qi", "oth"} & set(jwk), "KEY_SET_PRIVATE_KEY")
    if jwk["kty"] != "RSA":
        return False
    require(is_text(jwk.get("kid")), "KEY_SET_KID_MISSING")
    require(jwk.get("use", "sig") == "sig" and jwk.get("alg", "RS256") == "RS256", "KEY_SET_KEY_MALFORMED")
    n, e = decode(jwk.get("n")), decode(jwk.get("e"))
    require(n and e and n[0] != 0 and n[-1] % 2 == 1, "KEY_SET_KEY_MALFORMED")
    require(2048 <= int.from_bytes(n, "big").bit_length() <= 8192, "KEY_SET_MODULUS_SIZE")
    require(len(e) <= 4 and e[0] != 0 and e[-1] % 2 == 1 and e != b"\x01", "KEY_SET_EXPONENT")
    return True


def read_key_set(data):
    keys = read_object(data, "KEY_SET_UNREADABLE").get("keys")
    require(isinstance(keys, list), "KEY_SET_UNREADABLE")
    usable = [jwk for jwk in keys if vet_key(jwk)]
    require(len({str(jwk.get("kid")) for jwk in keys}) == len(keys), "KEY_SET_DUPLICATE_KID")
    return {jwk["kid"]: {"jwk": jwk} for jwk in usable}


def add_history(keys, data, issuer):
    """Adds to each key when it was in use, as the history says that a key of the set has signed."""
    text = data.decode("latin-1").strip()
    require(re.fullmatch(r"[\w-]+\.[\w-]+\.[\w-]*", text, re.ASCII), "KEY_HISTORY_UNREADABLE")
    header, payload = open_jws(text)
    kid = header["kid"]
    require(header.get("typ") == "key-history+jwt", "KEY_HISTORY_MALFORMED")
    require(kid in keys, "KEY_HISTORY_NOT_ANCHORED")
    verify_signature(text, keys[kid]["jwk"], "KEY_HISTORY_SIGNATURE_INVALID")
    history = read_object(payload, "KEY_HISTORY_MALFORMED")
    entries = history.get("keys")
    require(is_whole(history.get("iat")) and isinstance(entries, list), "KEY_HISTORY_MALFORMED")
    require(history.get("iss") == issuer, "KEY_HISTORY_ISSUER_MISMATCH")
    historic = {}
    for entry in entries:
        require(isinstance(entry, dict) and vet_key(entry.get("jwk")), "KEY_HISTORY_MALFORMED")
        jwk, state = entry["jwk"], entry.get("state")
        times = {"active": "activatedAt", "retired": "retiredAt", "compromised": "compromisedSince"}
        is_sound = state == "pending" or (is_text(state) and is_text(entry.get(times.get(state))))
        for value in (entry.get(name, "") for name in times.values()):
            is_sound = is_sound and (value is None or bool(UTC_TIME.fullmatch(str(value))))
        require(is_sound and jwk["kid"] == entry.get("kid"), "KEY_HISTORY_MALFORMED")
        require(jwk["kid"] not in historic, "KEY_SET_DUPLICATE_KID")
        historic[jwk["kid"]] = entry
        other = keys.get(jwk["kid"], entry)["jwk"]
        require(other["n"] == jwk["n"] and other["e"] == jwk["e"], "KEY_SET_CONFLICT")
    require(kid in historic, "KEY_HISTORY_KID_UNKNOWN")
    require(not is_compromised(historic[kid], time_of(history["iat"])), "KEY_HISTORY_KEY_COMPROMISED")
    # A key that the set no longer has was taken out for a reason; it comes back only to be refused.
    keys.update({kid: entry for kid, entry in historic.items() if kid in keys or entry["compromisedSince"]})


def time_of(seconds):
    """UTC to the second, for example 2026-03-01T09:30:00: such texts sort as the times do."""
    require(0 <= seconds < 253402300800, "CLAIM_TYPE")
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")


def is_compromised(key, at):
    return key["compromisedSince"] is not None and at >= key["compromisedSince"][:19]


def check_key_at(key, at):
    """Who has a compromised key can sign anything, and no key signs before or after its time."""
    if "state" not in key:
        return  # newer than the history
    require(not is_compromised(key, at), "KEY_COMPROMISED")
    require(key["activatedAt"] and at >= key["activatedAt"][:19], "KEY_OUTSIDE_WINDOW")
    require(not key["retiredAt"] or at <= key["retiredAt"][:19], "KEY_OUTSIDE_WINDOW")


def check_claims(claims, issuer, audience):
    require(not isinstance(claims.get("aud"), list), "AUDIENCE_NOT_SINGLE")
    require(all(is_text(claims.get(name)) for name in ("iss", "aud", "sub")), "CLAIM_TYPE")
    now = time.time()
    expires, begins = claims.get("exp", now), claims.get("nbf", now)
    for limit in (expires, begins):
        require(isinstance(limit, (int, float)) and not isinstance(limit, bool), "CLAIM_TYPE")
    require(claims["iss"] == issuer, "ISSUER_MISMATCH")
    require(claims["aud"] == audience, "AUDIENCE_MISMATCH")
    require(claims["iat"] <= now + 60, "ISSUED_IN_FUTURE")
    require(expires > now - 60, "TOKEN_EXPIRED")
    require(begins <= now + 60, "TOKEN_NOT_YET_VALID")


def place_of(claims):
    """The answer's place in a status list; None for an answer that names none."""
    if "status" not in claims:
        return None
    status = claims["status"]
    place = status.get("status_list") if isinstance(status, dict) else None
    idx, uri = (place.get("idx"), place.get("uri")) if isinstance(place, dict) else (None, None)
    require(is_whole(idx) and 0 <= idx < 2 ** 53 and is_text(uri), "CLAIM_TYPE")
    return idx, uri


def open_list(token, keys):
    """A list with a good signature of a key that was never compromised, unpacked to its bits and no further."""
    header, payload = open_jws(token.strip())
    key = keys.get(header["kid"])
    is_ours = header.get("typ") == "statuslist+jwt" and key and not key.get("compromisedSince")
    require(is_ours, "STATUS_LIST_UNUSABLE")
    verify_signature(token.strip(), key["jwk"], "STATUS_LIST_UNUSABLE")
    signed = read_object(payload, "STATUS_LIST_UNUSABLE")
    packed = signed.get("status_list")
    require(is_whole(signed.get("iat")) and isinstance(packed, dict), "STATUS_LIST_UNUSABLE")
    check_key_at(key, time_of(signed["iat"]))
    require(packed.get("bits") in (1, 2, 4, 8) and is_whole(signed.get("exp", 0)), "STATUS_LIST_UNUSABLE")
    most = 2 ** 20 * packed["bits"] // 8
    try:
        data = zlib.decompressobj().decompress(decode(packed.get("lst")), most + 1)
    except zlib.error:
        raise Refused("STATUS_LIST_UNUSABLE")
    require(len(data) <= most, "STATUS_LIST_UNUSABLE")
    return {**signed, "bits": packed["bits"], "data": data}


def value_at(opened, idx):
    """The value at a place; -1 where the list has no such place."""
    bits, data = opened["bits"], opened["data"]
    byte = idx * bits // 8
    return data[byte] >> (idx * bits % 8) & (2 ** bits - 1) if byte < len(data) else -1


def rank(opened):
    return opened["iat"], opened["value"]


def check_status(claims, tokens, keys, issuer):
    """What a list cannot tell is not known: that it was not withdrawn, only a list says that counts."""
    idx, uri = place_of(claims)
    found = None
    for token in tokens:
        try:
            opened = open_list(token, keys)
        except Refused:
            continue
        opened["value"] = value_at(opened, idx)
        # Of two lists of one second the one that tells of more counts, whichever was given first.
        if opened.get("sub") == uri and (found is None or rank(opened) > rank(found)):
            found = opened
    now = time.time()
    is_ours = found is not None and uri.startswith(issuer + "/v1/inter-agency/status/")
    require(is_ours and found["iat"] <= now + 60, "STATUS_LIST_UNUSABLE")
    require(now - found["iat"] <= MAX_LIST_AGE and now < found.get("exp", now + 1), "STATUS_LIST_STALE")
    require(found["value"] >= 0, "STATUS_LIST_UNUSABLE")
    # Only a yes can be withdrawn: eligible, or a licence that was VALID.
    result = claims["result"]
    is_licensed = (result["license"] or {}).get("status") == "VALID"
    if found["value"] == 0 or not (result["eligible"] or is_licensed):
        return
    # What was withdrawn before the answer had been lifted when it was signed.
    require(found["iat"] >= claims["iat"] - 60, "STATUS_LIST_STALE")
    require(False, "WITHDRAWN_SINCE")


def read_lists(data):
    """The lists of an offline pack, or the one that the file is."""
    if not re.match(rb"\s*\{", data):
        return [data.decode("latin-1")]
    tokens = read_object(data, "STATUS_LIST_UNUSABLE").get("statusLists")
    require(isinstance(tokens, list) and all(is_text(one) for one in tokens), "STATUS_LIST_UNUSABLE")
    return tokens


def check_result(result):
    """The answer must not contradict itself, or who reads one member of it is misled."""
    found, eligible, status = result.get("found"), result.get("eligible"), result.get("status")
    reasons = result.get("reasons")
    require(isinstance(found, bool) and isinstance(eligible, bool) and status in STATUSES, "RESULT_MALFORMED")
    require(isinstance(reasons, list) and all(isinstance(one, str) for one in reasons), "RESULT_MALFORMED")
    require(not eligible or (found and status == "VALID"), "RESULT_MALFORMED")
    is_described = any(result.get(name) for name in ("teacher", "license", "certificate"))
    require(found or (status == "NOT_FOUND" and not is_described), "RESULT_MALFORMED")


def seconds_of(text):
    match = ANY_TIME.fullmatch(text)
    if match is None:
        return None
    try:
        return datetime.fromisoformat(match[1] + match[3].replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def check_copy(envelope, claims, kid):
    """Everything outside the signature is a copy that anybody can change."""
    def written(value):
        return json.dumps(value, sort_keys=True)  # in Python, 1 equals True
    require(written(envelope["result"]) == written(claims["result"]), "OUTER_RESULT_DIFFERS")
    require(envelope["issuer"] == claims["iss"], "OUTER_ISSUER_DIFFERS")
    require(envelope["audience"] == claims["aud"], "OUTER_AUDIENCE_DIFFERS")
    require(envelope["signatureKid"] == kid, "OUTER_KID_DIFFERS")
    require(envelope["verificationId"] == claims["sub"], "OUTER_VERIFICATION_ID_DIFFERS")
    require(seconds_of(envelope["verifiedAt"]) == claims["iat"], "OUTER_VERIFIED_AT_DIFFERS")


def is_folded(text):
    """Whether mail has folded, quoted or framed a signature: that forges nothing, and proves nothing."""
    has_more = re.search(r"""[\s\x80-\uffff<>"'(),:;\[\]{}]""", text)
    return bool(has_more and re.search(r"\.eyJ[\w-]*\.[\w-]{100}", re.sub(r"[^\w.-]", "", text, flags=re.ASCII), re.ASCII))


def is_damaged(data):
    """The same of JSON: cut off, folded, quoted-printable, in HTML, or with curly quotation marks and hard spaces."""
    text = data.decode("latin-1")
    marks = r"[^}\]\s]\s*\Z|eyJ[\w.-]*\s|=3D|=\r?\n|&quot;|\xe2\x80|\xc2\xa0"
    try:
        is_marked = bool(re.search(marks, text, re.ASCII)) or not data.decode("utf-8")
    except UnicodeDecodeError:
        is_marked = True
    return is_marked and is_folded(text)


def read_envelope(data):
    """A web page or an error answer is not a forgery: a text without any part of an envelope is undecided."""
    text = data.decode("latin-1")
    marks = r'eyJ[\w-]{8}|"(signature|signatureKid|result|verificationId)"\s*:|\\u00[4-7]'
    require(re.search(marks, text.replace("\0", ""), re.ASCII | re.IGNORECASE), "NOT_AN_ENVELOPE")
    if not re.match(r'\s*[\[{"]', text):
        token = text.rstrip("\r\n")
        require(not is_folded(token), "TEXT_DAMAGED")
        return None, token
    envelope = read_object(data, "TEXT_DAMAGED" if is_damaged(data) else "JSON_MALFORMED")
    texts = ("verificationId", "verifiedAt", "issuer", "audience", "signature", "signatureKid")
    require(all(isinstance(envelope.get(name), str) for name in texts), "ENVELOPE_MALFORMED")
    require(isinstance(envelope.get("result"), dict), "ENVELOPE_MALFORMED")
    require(not is_folded(envelope["signature"]), "TEXT_DAMAGED")
    return envelope, envelope["signature"]


def verify_envelope(data, jwks, key_history, issuer, audience, lists=None):
    """The signed claims, to decide by; raises Refused with the reason."""
    envelope, token = read_envelope(data)
    header, payload = open_jws(token)
    kid = header["kid"]
    # Statements, key histories and status lists are signed with the same keys, and have types of their own.
    require(header.get("typ", "JWT") == "JWT", "HEADER_TYP")
    keys = read_key_set(jwks)
    add_history(keys, key_history, issuer)
    require(kid in keys, "KID_UNKNOWN")
    verify_signature(token, keys[kid]["jwk"], "SIGNATURE_INVALID")
    claims = read_object(payload, "JWS_MALFORMED")
    require(is_whole(claims.get("iat")), "CLAIM_TYPE")
    check_key_at(keys[kid], time_of(claims["iat"]))
    require(isinstance(claims.get("result"), dict), "CLAIM_MISSING")
    check_claims(claims, issuer, audience)
    check_result(claims["result"])
    place = place_of(claims)
    if envelope is not None:
        check_copy(envelope, claims, kid)
    if lists is not None and place is not None:
        check_status(claims, read_lists(lists), keys, issuer)
    return claims


def read_file(name):
    try:
        with open(name, "rb") as file:
            return in_utf8(file.read())
    except OSError:
        raise Refused("FILE_UNREADABLE")


def in_utf8(data):
    """Editors and shells save UTF-16, or put a mark before UTF-8."""
    zeros = [byte == 0 for byte in data[:4]]
    little = data[:2] == b"\xff\xfe" or zeros == [False, True, False, True]
    if little or data[:2] == b"\xfe\xff" or zeros == [True, False, True, False]:
        text = data.decode("utf-16-le" if little else "utf-16-be", "replace")
        return text.removeprefix("\ufeff").encode("utf-8", "replace")
    return data.removeprefix(b"\xef\xbb\xbf")


if __name__ == "__main__":
    envelope_file, jwks_file, history_file, expected_issuer, partner_id, *list_files = sys.argv[1:]
    try:
        files = [read_file(name) for name in (envelope_file, jwks_file, history_file)]
        verify_envelope(*files, expected_issuer, partner_id, *(read_file(name) for name in list_files))
        print("valid")
    except Refused as refusal:
        print(refusal)
        sys.exit(2 if str(refusal) in UNDECIDABLE else 1)
