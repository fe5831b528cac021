#!/bin/sh
# curl 7.76 or later.
curl --fail-with-body -sS -X METHOD \
  -H 'NAME: VALUE' \
  -d 'BODY' \
  'ADDRESS'
