import { expect, test } from "bun:test";
import { makeStoredRequestContext, redactIdentifier } from "../../src/domain/attestations.ts";
import { createBlindIndex } from "../../src/domain/blind-index.ts";
import { aStoredTeacher, secrets } from "../harness/samples.ts";

const index = createBlindIndex(secrets.blindIndexKey);
const nin = "12345678901";

test("an attestation of a found teacher stores the identifier of the request", () => {
  const teacher = aStoredTeacher();
  const regNo = { by: "regNo", value: teacher.regNo } as const;
  const reference = `regNo:${teacher.regNo}`;
  expect(redactIdentifier(regNo, teacher, index)).toEqual({ reference, ninIndex: null });
  for (const value of [7, 12_345_678_901]) {
    const stored = redactIdentifier({ by: "tId", value }, teacher, index);
    expect(stored).toEqual({ reference: `tId:${value}`, ninIndex: null });
  }
});

test("an attestation stores a NIN as its blind index, even if no teacher has the NIN", () => {
  const key = { by: "nin", value: index.nin(nin) } as const;
  for (const teacher of [aStoredTeacher(), null]) {
    expect(redactIdentifier(key, teacher, index)).toEqual({ reference: "nin", ninIndex: index.nin(nin) });
  }
});

test("an attestation stores a teacher id that nobody has, unless the id may be a NIN or a phone number", () => {
  const kept = (value: number) => redactIdentifier({ by: "tId", value }, null, index);
  expect(kept(204_417)).toEqual({ reference: "tId:204417", ninIndex: null });
  expect(kept(999_999_999)).toEqual({ reference: "tId:999999999", ninIndex: null });
  expect(kept(Number(nin))).toEqual({ reference: "tId", ninIndex: index.nin(nin) });
  for (const phone of [8_031_234_567, 2_348_031_234_567]) {
    expect(kept(phone)).toEqual({ reference: "tId", ninIndex: null });
  }
});

test("if no teacher has a registration number, its attestation stores [removed] for parts that look like a NIN or an e-mail address", () => {
  const kept = (value: string) => redactIdentifier({ by: "regNo", value }, null, index).reference;
  expect(kept("LA/2019/PRI/04417")).toBe("regNo:LA/2019/PRI/04417");
  expect(kept(`LA/2019/PRI/${nin}`)).toBe("regNo:LA/2019/PRI/[removed]");
  expect(kept("A/B/C/ADA@EXAMPLE.COM")).not.toContain("ADA@");
});

const kept = (text: string) =>
  JSON.parse(makeStoredRequestContext({ correlationId: text }) ?? "").correlationId;

test.each([
  [nin, "[removed]"],
  ["call 0803 123 4567 now", "call [removed] now"],
  ["Ada <ada@example.com>, head", "Ada [removed] head"],
  // The context stays JSON, although quotes and a backslash surround the address.
  ['batch "x@y"z" \\', 'batch "[removed]"z" \\'],
])("the context %s of a call is stored as %s", (given, expected) => {
  expect(kept(given)).toBe(expected);
});
