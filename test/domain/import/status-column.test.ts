import { expect, test } from "bun:test";
import { isStatusName, meansWithdrawn } from "../../../src/domain/import/words.ts";

test.each([
  ..."REVOKED|Revoked|struck off|STRUCK-OFF|Struck off the register|Removed|Suspended|SUSPENDED (2024)".split(
    "|",
  ),
  ..."withdrawn|Cancelled|canceled|BARRED|Deregistered|de-registered|De Registered|surrendered".split("|"),
  ..."disqualified|Banned|annulled|Expelled|debarred|licence revoked|Unregistered|S T R U C K  O F F".split(
    "|",
  ),
])("the text %s is recognised", (word) => {
  expect(meansWithdrawn(word)).toBe(true);
});

test.each("VALID|Active|Expired|Lapsed|None|Not revoked|Never suspended|Retired|Kano|".split("|"))(
  "the text %s is not recognised",
  (word) => {
    expect(meansWithdrawn(word)).toBe(false);
  },
);

test.each([
  ..."Licence Status|License_Status|LIC. STATUS|Licence Standing|Registration Status|Reg. Status".split("|"),
  ..."Teacher Status|Teacher's Status|Status|Standing|Status of Licence|State of registration".split("|"),
  ..."Revoked|Struck Off|Date of suspension|licenceState|Is licence valid".split("|"),
])("the text %s is recognised", (name) => {
  expect(isStatusName(name)).toBe(true);
});

test.each(
  "certificate_status|Cert. Standing|Marital Status|Employment status|NIN status|State|State of origin|Remarks|Name".split(
    "|",
  ),
)("the text %s is not recognised", (name) => {
  expect(isStatusName(name)).toBe(false);
});
