# Fetches the events that are new, a line for each. Python 3.9 or later, nothing to install (tested with Python 3.11).
#   API_KEY='tvs_test_...' python3 events.py ISSUER
# Run it every minute. The file events.iterator says how far it has come; what fails comes the next time, so a line can
# come twice, and none is left out.
import json
import os
import sys
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, Request, build_opener


class NoRedirect(HTTPRedirectHandler):
    """urllib would hand the key on to wherever a redirect leads."""
    def redirect_request(self, *_):
        return None


place = "events.iterator"
page = {"done": False}
while not page["done"]:
    url = sys.argv[1] + "/v1/inter-agency/events"
    if os.path.exists(place):
        with open(place) as file:
            url += "?after=" + quote(file.read(), safe="")
    request = Request(url, headers={"Authorization": "Bearer " + os.environ["API_KEY"]})
    try:
        with build_opener(NoRedirect).open(request, timeout=15) as answer:
            page = json.load(answer)
    except HTTPError as error:
        sys.exit(f"{error.headers['X-Error-Code']}: " + error.read().decode("utf-8", "replace"))
    except (URLError, TimeoutError) as error:
        sys.exit(str(error))
    for event in page["data"]:
        print(event["eventId"], event["eventType"], event["data"]["regNo"], flush=True)
    if page["iterator"] is not None:
        with open(place + ".new", "w") as file:
            file.write(page["iterator"])
        os.replace(place + ".new", place)
