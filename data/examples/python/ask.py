# Asks about one teacher. Python 3.9 or later, nothing to install (tested with Python 3.11).
#   API_KEY='tvs_test_...' python3 ask.py ISSUER PURPOSE REGISTRATION_NUMBER
# Saves the answer and the keys that prove it: envelope.json, jwks.json, key-history.jose. Verify before you rely on it.
import calendar
import json
import os
import sys
import time
import uuid
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

issuer, purpose, reg_no = sys.argv[1:]


class NoRedirect(HTTPRedirectHandler):
    """urllib would hand the key on to wherever a redirect leads."""
    def redirect_request(self, *_):
        return None


opener = build_opener(NoRedirect)
idempotency_key = str(uuid.uuid4())  # the same for each retry of one question
begun_at = time.time()


def call(path, body=None, headers={}):
    """Asks again up to three times what the service could not answer; ends with what it refused."""
    for attempt in range(4):
        wait_seconds = 2 ** attempt
        try:
            request = Request(issuer + "/v1/inter-agency" + path, body, headers)
            with opener.open(request, timeout=15) as answer:
                return answer.read(), answer.headers
        except HTTPError as error:
            answer_text = error.read().decode("utf-8", "replace")
            message = f"{error.headers['X-Error-Code'] or error.code}: {answer_text}"
            may_help = error.code == 429 or error.code >= 500
            if error.code == 429:
                wait_seconds = json.loads(answer_text)["retryAfterSeconds"]
        except (URLError, TimeoutError) as error:
            message, may_help = str(error), True
        if not may_help or attempt == 3 or wait_seconds > 60:
            sys.exit(message)
        time.sleep(wait_seconds)


def is_mine(envelope, headers):
    """Whether this is the answer to the question: somebody on the way may have kept a genuine one to another."""
    result = envelope["result"]
    signed_at = calendar.timegm(time.strptime(envelope["verifiedAt"][:19], "%Y-%m-%dT%H:%M:%S"))
    return (
        (not result["found"] or result["certificate"]["regNo"] == "".join(reg_no.split()).upper())
        and envelope["verificationId"] == headers["X-Verification-Id"]
        and begun_at - 60 <= signed_at <= time.time() + 60
    )


def save(name, data):
    with open(name, "wb") as file:
        file.write(data)


question = json.dumps({"identifier": {"regNo": reg_no}, "purpose": purpose}).encode()
envelope, headers = call("/eligibility-check", question, {
    "Authorization": "Bearer " + os.environ["API_KEY"],
    "Content-Type": "application/json",
    "Idempotency-Key": idempotency_key,
})
if not is_mine(json.loads(envelope), headers):
    sys.exit("this answers another question")
save("envelope.json", envelope)
save("jwks.json", call("/.well-known/jwks.json")[0])
save("key-history.jose", call("/.well-known/key-history")[0])
result = json.loads(envelope)["result"]
print(json.dumps({name: result[name] for name in ("found", "status", "eligible", "reasons")}))
