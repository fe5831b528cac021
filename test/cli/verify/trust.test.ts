import { expect, test } from "bun:test";
import { audience, issuer, keys } from "../../fixtures/envelope-tokens.ts";
import { input, keyHistory, run, settings } from "./verify-run.ts";

const expected = ["--issuer", issuer, "--audience", audience];
const alone = ["--key-history", keyHistory, ...expected];

test("tvs verify says in its text and its JSON if trust rests on the key history alone", async () => {
  const both = await run([...settings, input("valid.json")]);
  expect([both.code, both.stdout]).toEqual([0, expect.not.stringContaining("rests on")]);
  const { code, stdout } = await run([...alone, input("valid.json")]);
  const [signer, signedAt] = [keys.active.kid, "2026-02-01T00:00:00Z"];
  expect(code).toBe(0);
  expect(stdout).toContain(`trust rests on ${keyHistory} alone, signed by key ${signer} on ${signedAt}`);
  const { objects } = await run([...alone, "--json", input("valid.json")]);
  const basis = { basis: "key-history", historySigner: signer, historySignedAt: signedAt };
  expect(objects[0]?.trust).toEqual(basis);
});

test("tvs verify shows a genuine answer NOT_FOUND as valid, with the answer in red and no green word", async () => {
  const { stdout } = await run([...settings, input("valid-not-found.json")], { color: true });
  const [first, second, third] = stdout.split("\n");
  expect(first).toStartWith("valid  ");
  expect(second).toBe("  signature       genuine");
  expect(third).toBe(
    "  \u001b[31mAnswer on 1 March 2026: NOT_FOUND, not eligible, TEACHER_NOT_FOUND\u001b[0m",
  );
  expect(stdout).not.toContain("\u001b[32m");
});

const at = (time: string) => [...settings, "--now", time, input("valid.json")];

test("tvs verify shows in amber that the licence of an old answer has ended, with the URL of today's answer", async () => {
  const { code, stdout } = await run(at("2030-06-01T00:00:00Z"), { color: true });
  expect(code).toBe(0);
  const [first, , answer, since] = stdout.split("\n");
  expect(first).toStartWith("valid  ");
  expect(answer).toBe("  \u001b[33mAnswer on 1 March 2026: VALID, eligible\u001b[0m");
  expect(since).toBe(
    "  \u001b[33mThe licence it speaks of ended on 31 May 2027. Today's answer: https://teachers.example/?tId=204417\u001b[0m",
  );
  expect(stdout).not.toContain("\u001b[32m");
});

test('tvs verify prints FAILED for a failed check and "not made" for a skipped check', async () => {
  const { stdout } = await run([...settings, input("compromised.json")]);
  expect(stdout).toContain("  FAILED   compromise ");
  expect(stdout).toContain("  not made window ");
  expect(stdout).not.toMatch(/^ *(NO|--) /m);
});
