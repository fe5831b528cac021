# Receives webhooks. Python 3.9 or later, nothing to install (tested with Python 3.11).
#   TVS_WEBHOOK_SECRET='whsec_...' PORT=9876 python3 receive.py
# One delivery that you kept: python3 receive.py --check BODY_FILE SIGNATURE UNIX_SECONDS (exit 0 genuine, 1 not)
import hashlib
import hmac
import json
import os
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ.get("TVS_WEBHOOK_SECRET", "").encode()  # the whole text, whsec_ included
HEADER = re.compile("t=(0|[1-9][0-9]{0,11}),v1=([0-9a-f]{64})(?:,v1=([0-9a-f]{64}))?")
MAX_BODY_BYTES = 64 * 1024  # the service's deliveries have some hundred bytes
handled = set()  # a real receiver keeps these in its database


def verify(raw_body, header, now_seconds):
    """"valid", or why not. The body is the bytes as they came, before anything parses them."""
    match = HEADER.fullmatch(header)
    if match is None:
        return "SIGNATURE_HEADER_MALFORMED"
    expected = hmac.new(SECRET, match[1].encode() + b"." + raw_body, hashlib.sha256).hexdigest()
    if not any(hmac.compare_digest(expected, digest) for digest in match.groups()[1:] if digest):
        return "SIGNATURE_MISMATCH"
    return "OUTSIDE_REPLAY_WINDOW" if abs(now_seconds - int(match[1])) > 300 else "valid"


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,9}", length) or int(length) > MAX_BODY_BYTES:
            self.close_connection = True
            self.send_response(413 if length.isdecimal() else 411)
            self.end_headers()
            return
        raw_body = self.rfile.read(int(length))
        verdict = verify(raw_body, self.headers.get("X-AGENCY-Signature", ""), time.time())
        self.send_response(204 if verdict == "valid" else 400)
        self.end_headers()
        if verdict == "valid":
            # Answered first, worked on afterwards; an event can come twice, and then has the same eventId.
            event = json.loads(raw_body)
            if event["eventId"] not in handled:
                # One text with its end: parts of a line could mix with what others print.
                print(f'{event["eventType"]} {event["data"]["regNo"]}\n', end="", flush=True)
            handled.add(event["eventId"])


if __name__ == "__main__":
    if not re.fullmatch(rb"[\x21-\x7e]+", SECRET):
        print("set TVS_WEBHOOK_SECRET to the secret alone: no spaces, line ends or byte order mark", file=sys.stderr)
        sys.exit(2)
    if sys.argv[1:2] == ["--check"]:
        with open(sys.argv[2], "rb") as file:
            verdict = verify(file.read(), sys.argv[3], int(sys.argv[4]))
        print(verdict)
        sys.exit(0 if verdict == "valid" else 1)
    ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 9876))), Receiver).serve_forever()
