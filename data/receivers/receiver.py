import hashlib, hmac, json, os, re, time
from http.server import BaseHTTPRequestHandler, HTTPServer

SECRET = os.environ["WEBHOOK_SECRET"].encode()  # the whole text, whsec_ included
HEADER = re.compile("t=(0|[1-9][0-9]{0,11}),v1=([0-9a-f]{64})(?:,v1=([0-9a-f]{64}))?")
handled = set()  # a real receiver keeps these in its database

def genuine(header, raw_body, now_seconds):
    match = HEADER.fullmatch(header)
    if match is None or abs(now_seconds - int(match[1])) > 300:
        return False
    expected = hmac.new(SECRET, match[1].encode() + b"." + raw_body, hashlib.sha256).hexdigest()
    return any(hmac.compare_digest(expected, digest) for digest in match.groups()[1:] if digest)

class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        raw_body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not genuine(self.headers.get("X-AGENCY-Signature", ""), raw_body, time.time()):
            self.send_response(400)
        else:
            event = json.loads(raw_body)
            if event["eventId"] not in handled:
                print(event["eventType"], event["data"]["regNo"], flush=True)
            handled.add(event["eventId"])
            self.send_response(204)
        self.end_headers()

if __name__ == "__main__":
    HTTPServer(("127.0.0.1", int(os.environ.get("PORT", 9876))), Receiver).serve_forever()
