# Python 3.9 or later, nothing to install.
from urllib.request import Request, urlopen

request = Request("ADDRESS", method="METHOD")
request.add_header("NAME", "VALUE")
request.data = r'''BODY'''.encode()
with urlopen(request, timeout=30) as response:
    print(response.status, response.read().decode())
