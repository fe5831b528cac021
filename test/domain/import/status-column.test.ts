import { expect, test } from "bun:test";
import { isStatusColumnName, isWithdrawalWord } from "../../../src/domain/import/words.ts";

const withdrawn =
  "REVOKED|Revoked|struck off|STRUCK-OFF|Struck off the register|Removed|Suspended|SUSPENDED (2024)|withdrawn|Cancelled|" +
  "canceled|BARRED|Deregistered|de-registered|De Registered|surrendered|disqualified|Banned|annulled|Expelled|debarred|" +
  "licence revoked|Unregistered|S T R U C K  O F F";
const others = "VALID|Active|Expired|Lapsed|None|Not revoked|Never suspended|Retired|Kano|";
const statusNames =
  "Licence Status|License_Status|LIC. STATUS|Licence Standing|Registration Status|Reg. Status|Teacher Status|Status|" +
  "Teacher's Status|Standing|Status of Licence|State of registration|Revoked|Struck Off|Date of suspension|licenceState|" +
  "Is licence valid";
const otherNames =
  "certificate_status|Cert. Standing|Marital Status|Employment status|NIN status|State|State of origin|Remarks|Name";

test.each([
  ["words that mean a withdrawn licence", withdrawn, isWithdrawalWord, true],
  ["other words", others, isWithdrawalWord, false],
  ["column names that mean a licence's status", statusNames, isStatusColumnName, true],
  ["other column names", otherNames, isStatusColumnName, false],
] as const)("every example of %s is classified correctly", (_what, texts, recognises, expected) => {
  expect(texts.split("|").filter((text) => recognises(text) !== expected)).toEqual([]);
});
