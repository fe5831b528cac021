import { describe, expect, test } from "bun:test";
import { isStatusColumn, isStatusName, meansWithdrawn } from "../../../src/domain/import/words.ts";

describe("a word that means withdrawn", () => {
  test.each([
    ..."REVOKED|Revoked|struck off|STRUCK-OFF|Struck off the register|Removed|Suspended|SUSPENDED (2024)".split(
      "|",
    ),
    ..."withdrawn|Cancelled|canceled|BARRED|Deregistered|de-registered|De Registered|surrendered".split("|"),
    ..."disqualified|Banned|annulled|Expelled|debarred|licence revoked|Unregistered|S T R U C K  O F F".split(
      "|",
    ),
  ])("%s does", (word) => {
    expect(meansWithdrawn(word)).toBe(true);
  });

  test.each("VALID|Active|Expired|Lapsed|None|Not revoked|Never suspended|Retired|Kano|".split("|"))(
    "%s does not",
    (word) => {
      expect(meansWithdrawn(word)).toBe(false);
    },
  );
});

describe("a name that suggests how a licence stands", () => {
  test.each([
    ..."Licence Status|License_Status|LIC. STATUS|Licence Standing|Registration Status|Reg. Status".split(
      "|",
    ),
    ..."Teacher Status|Teacher's Status|Status|Standing|Status of Licence|State of registration".split("|"),
    ..."Revoked|Struck Off|Date of suspension|licenceState|Is licence valid".split("|"),
  ])("%s does", (name) => {
    expect(isStatusName(name)).toBe(true);
  });

  test.each(
    "certificate_status|Cert. Standing|Marital Status|Employment status|NIN status|State|State of origin|Remarks|Name".split(
      "|",
    ),
  )("%s does not", (name) => {
    expect(isStatusName(name)).toBe(false);
  });
});

describe("a status column", () => {
  test("has few words, one of which means withdrawn, or a name that suggests a status", () => {
    const words = new Map([
      ["Good", 40],
      ["STRUCK OFF", 2],
    ]);
    const many = new Map(Array.from({ length: 21 }, (_, n) => [n === 0 ? "STRUCK OFF" : `word ${n}`, 1]));
    expect(isStatusColumn({ name: "Remarks", words })).toBe(true);
    expect(isStatusColumn({ name: "Remarks", words: new Map([["Good", 42]]) })).toBe(false);
    expect(isStatusColumn({ name: "Remarks", words: many })).toBe(false);
    expect(isStatusColumn({ name: "Licence status", words: many })).toBe(true);
  });

  test("is looked for in bounded time, whatever its name and its words are", () => {
    for (const char of ["a", " ", "1", "́", "(", "status", "revo"]) {
      const long = char.repeat(250_000);
      const startedAt = performance.now();
      isStatusColumn({ name: long, words: new Map([[long, 1]]) });
      expect(performance.now() - startedAt).toBeLessThan(50);
    }
  });
});
