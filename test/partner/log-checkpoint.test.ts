import { expect, test } from "bun:test";
import { encodeBase64 } from "../../src/partner/base64.ts";
import { openCheckpoint, readCount, readTreeHead } from "../../src/partner/log-checkpoint.ts";
import { Refusal } from "../../src/partner/reasons.ts";
import { checkpoints } from "../fixtures/log-world.ts";

// Checkpoints of every bad kind are fixtures, which log-fixtures.test.ts judges.

test("a checkpoint for which no key was given is of another log", async () => {
  expect(await openCheckpoint(checkpoints.newest.note, [])).toMatchObject({ reason: "PROOF_OF_ANOTHER_LOG" });
});

const origin = "verify.example.org/log";
const root = encodeBase64(new Uint8Array(32).fill(7));

test.each([
  ["no origin", `\n5\n${root}\n`],
  ["a size that no number holds", `${origin}\n9007199254740992\n${root}\n`],
  ["a root that is not canonical", `${origin}\n5\n${root.replace(/c=$/, "d=")}\n`],
  ["no last line feed", `${origin}\n5\n${root}`],
])("a text with %s is no tree head", (_name, text) => {
  const head = readTreeHead(text);
  expect(head instanceof Refusal ? head.reason : null).toBe("PROOF_MALFORMED");
});

test("counts have one spelling", () => {
  expect(["0", "1", "10", "9007199254740991"].map(readCount)).toEqual([0, 1, 10, 9007199254740991]);
  const others = ["", "00", "01", "-1", "+1", "1.0", "1e3", " 1", "1 ", "٣", "9007199254740992"];
  expect(others.map(readCount)).toEqual(others.map(() => null));
});
