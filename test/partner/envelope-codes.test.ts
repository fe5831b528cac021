import { describe, expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type CodesReading,
  joinCodes,
  pageOfIssuer,
  readCode,
  splitIntoCodes,
  splitProofIntoCodes,
  tagOf,
} from "../../src/partner/envelope-codes.ts";
import { folder } from "../fixtures/envelope-tokens.ts";

const jws = (await readFile(join(folder, "inputs", "valid-bare.jws"), "utf8")).trim();

describe("the codes of a signature", () => {
  test("have the published form, and are two when that is enough", async () => {
    const codes = await splitIntoCodes(jws);
    expect(codes.length).toBe(2);
    const tag = await tagOf(jws);
    for (const [index, code] of codes.entries()) {
      expect(code).toStartWith(`TVS1:${index + 1}/2:${tag}:`);
      expect(code.length).toBeLessThanOrEqual(740);
    }
    expect(await splitIntoCodes("x".repeat(2000))).toHaveLength(2);
    const many = await splitIntoCodes("x".repeat(2001));
    expect(many.map((code) => code.length)).toEqual([519, 519, 519, 516]);
  });

  test("are links to the issuer's page, and are read like the lines alone", async () => {
    const page = pageOfIssuer("https://verify.example.gov/");
    expect(page).toBe("https://verify.example.gov/verify-envelope");
    const links = await splitIntoCodes(jws, page);
    const lines = await splitIntoCodes(jws);
    expect(links).toEqual(lines.map((line) => `${page}#${line}`));
    expect(await joinCodes([...links].reverse())).toEqual({ jws, proof: null });
    expect(await joinCodes([links[0] ?? "", lines[1] ?? ""])).toEqual({ jws, proof: null });
    expect(links.map((link) => readCode(link)?.line)).toEqual(lines);
  });

  test.each([
    ["no address at all", "the registry"],
    ["another scheme", "javascript:alert(1)//"],
    ["a password", "https://me:secret@verify.example.gov"],
    ["a query", "https://verify.example.gov/?to=elsewhere"],
    ["a fragment", "https://verify.example.gov/#main"],
    ["more than a code has room for", `https://${"verify.".repeat(16)}example.gov`],
  ])("are no links when the issuer is or has %s", (_, issuer) => {
    expect(pageOfIssuer(issuer)).toBeNull();
  });

  test.each([
    ["a link without a fragment", "https://verify.example.gov/verify-envelope"],
    ["half a line", "https://verify.example.gov/verify-envelope#TVS1:1/2:abcdefgh"],
    ["a line without its part", "TVS1:1/2:abcdefgh:"],
    ["markup", 'TVS1:1/2:abcdefgh:<img src="x">'],
    ["a number of three digits", "TVS1:1/100:abcdefgh:x"],
    ["another scheme", "javascript:0#TVS1:1/2:abcdefgh:x"],
    ["more than a code holds", `TVS1:1/2:abcdefgh:${"x".repeat(3000)}`],
  ])("are not taken from %s", (_, text) => {
    expect(readCode(text)).toBeNull();
  });

  test("give it back in any order, and read more than once", async () => {
    const codes = await splitIntoCodes(jws);
    expect(await joinCodes([...codes].reverse().concat(codes))).toEqual({ jws, proof: null });
  });

  test("are told apart from other codes on the same sheet", async () => {
    const codes = await splitIntoCodes(jws);
    const others = ["https://www.example.org/a.b", "a.b.c", "TVS1:0/3:abcdefgh:x", "TVS2:1/1:abcdefgh:x", ""];
    expect(await joinCodes([...others, ...codes])).toEqual({ jws, proof: null });
    expect(await joinCodes(others)).toEqual({ problem: "NONE" });
  });

  test("a single code may hold all of it", async () => {
    expect(await joinCodes([jws])).toEqual({ jws, proof: null });
  });

  test("name those that are missing", async () => {
    const codes = await splitIntoCodes(jws.repeat(4));
    const missing = [2, 5];
    const rest = codes.filter((_, index) => !missing.includes(index + 1));
    expect(await joinCodes(rest)).toEqual({
      problem: "MISSING",
      of: "envelope",
      missing,
      total: codes.length,
    });
  });

  test("of two signatures are not mixed", async () => {
    const codes = await splitIntoCodes(jws);
    const others = await splitIntoCodes(`${jws}x`);
    expect(await joinCodes([...codes, ...others])).toEqual({ problem: "SEVERAL", of: "envelope", count: 2 });
    expect(await joinCodes([...codes, `${jws}x`])).toEqual({ problem: "SEVERAL", of: "envelope", count: 2 });
  });

  test.each([
    ["a changed part", (code: string) => code.replace(/.$/, (last) => (last === "A" ? "B" : "A"))],
    ["another total", (code: string) => code.replace(/^TVS1:1\/\d/, "TVS1:1/9")],
    ["a number above the total", (code: string) => code.replace(/^TVS1:1\/(\d)/, "TVS1:8/$1")],
  ])("with %s do not fit together", async (_, change) => {
    const [first = "", ...rest] = await splitIntoCodes(jws);
    expect(await joinCodes([change(first), ...rest])).toEqual({ problem: "DAMAGED", of: "envelope" });
  });

  test("contradicting each other do not fit together", async () => {
    const codes = await splitIntoCodes(jws);
    const [first = ""] = codes;
    expect(await joinCodes([...codes, `${first}x`])).toEqual({ problem: "DAMAGED", of: "envelope" });
  });

  test("are at most ninety-nine", async () => {
    expect(await splitIntoCodes("x".repeat(520 * 99))).toHaveLength(99);
    const outcome = splitIntoCodes("x".repeat(520 * 99 + 1)).then(
      () => null,
      (error: unknown) => error,
    );
    expect(await outcome).toBeInstanceOf(RangeError);
  });
});

describe("the codes of a proof", () => {
  const hashes = Array.from({ length: 24 }, (_, index) => Buffer.alloc(32, index).toString("base64"));
  const checkpoint = "teachers.example/log\n10000000\nroot=\n\n\u2014 teachers.example/log c2lnbmF0dXJl\n";
  const proof = ["c2sp.org/tlog-proof@v1", "index 7654321", ...hashes, "", checkpoint].join("\n");

  test("lie beside those of the envelope, and both are given back, in any order", async () => {
    const codes = [...(await splitProofIntoCodes(proof)), ...(await splitIntoCodes(jws))];
    expect(codes.every((code) => /^TV[SP]1:[\w./:-]+$/.test(code) && code.length <= 920)).toBe(true);
    expect(await joinCodes(codes)).toEqual({ jws, proof });
    expect(await joinCodes(codes.reverse())).toEqual({ jws, proof });
  });

  test("may be read alone", async () => {
    expect(await joinCodes(await splitProofIntoCodes(proof))).toEqual({ jws: null, proof });
  });

  test("are asked for when some of them are missing", async () => {
    const [, ...rest] = await splitProofIntoCodes(proof);
    const problem: CodesReading = { problem: "MISSING", of: "proof", missing: [1], total: rest.length + 1 };
    expect(await joinCodes([...rest, ...(await splitIntoCodes(jws))])).toEqual(problem);
  });

  test("of two proofs are not mixed, and a changed one does not fit", async () => {
    const envelope = await splitIntoCodes(jws);
    const codes = await splitProofIntoCodes(proof);
    const others = await splitProofIntoCodes(`${proof}\n`);
    const several: CodesReading = { problem: "SEVERAL", of: "proof", count: 2 };
    expect(await joinCodes([...envelope, ...codes, ...others])).toEqual(several);
    const changed = codes.map((code) =>
      code.replace(/:(.)([^:]*)$/, (_, first, rest) => `:${first}A${rest}`),
    );
    expect(await joinCodes([...envelope, ...changed])).toEqual({ problem: "DAMAGED", of: "proof" });
  });
});
