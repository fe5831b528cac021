import { expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type RefusalReason, refusalReasons } from "../../../src/partner/reasons.ts";
import { damagedTexts, utf16 } from "../../fixtures/damaged-texts.ts";
import {
  audience,
  envelope,
  type FixtureCase,
  folder as fixtures,
  issuer,
  keys,
  signTexts,
} from "../../fixtures/envelope-tokens.ts";
import { dueReason, envelopesAt, kindsAt, offlinePack } from "../../fixtures/status-lists.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { runToEnd } from "../../harness/program.ts";
import { chooseForLanguage, type Language, makeExampleEnvironment, testEachLanguage } from "./languages.ts";

const folder = sharedFolder();
const cases: FixtureCase[] = await Bun.file(join(fixtures, "cases.json")).json();

/** Cases in which the examples and `tvs verify` differ, with the reason. */
const exceptions: Readonly<Record<string, string>> = {
  // The check for keys of a broken generator takes more code than all others; the service cannot make such a key.
  "set-roca.json": "valid",
  // `keys history --json` wraps the history for operators; the service serves the history itself.
  "valid-history-json.json": "undecidable",
};

/** Cases that need another time, which no option of the examples sets. `clockCases` has the same cases. */
const byTheClock = ["future.json", "expired.json", "not-yet-valid.json"];

/** Inputs that a language's own readers of JSON, base64 and times might accept. */
const ofEachLanguage = /^(?:nearly-json|spelling|outer-time)-/;

const verdicts = ["valid", "refused", "undecidable"];

type Case = { readonly name: string; readonly words: readonly string[]; readonly expected: string };

/** Writes a file into the folder of the tests. @returns its path */
async function place(name: string, content: string | Uint8Array): Promise<string> {
  const file = join(folder, `case-${name.replaceAll(/\W+/g, "-")}`);
  await writeFile(file, content);
  return file;
}

/** Writes an input. @returns its case */
async function caseOf(name: string, input: string | Uint8Array, expected: string): Promise<Case> {
  return { name, words: wordsOf(await place(name, input)), expected };
}

function wordsOf(input: string, jwks: string | null = null, keyHistory: string | null = null): string[] {
  const keys = [jwks ?? "jwks.json", keyHistory ?? "history.jose"];
  return [input, ...keys.map((name) => join(fixtures, "keys", name)), issuer, audience];
}

/**
 * The examples verify one envelope; a file of several is for `tvs verify`. Two languages run every fixture, the others a
 * tenth and all that their own libraries could accept.
 */
function fixtureCases(language: Language): Case[] {
  const single = cases.filter(({ name, reasons }) => reasons.length <= 1 && !byTheClock.includes(name));
  const own = single.filter(({ name }) => ofEachLanguage.test(name));
  const shared = single.filter(({ name }) => !ofEachLanguage.test(name));
  const chosen = [...chooseForLanguage(language, shared), ...own];
  return chosen.map(({ name, input, jwks, keyHistory, reasons: [reason = "NO_ENVELOPE"] }) => ({
    name,
    words: wordsOf(join(fixtures, "inputs", input), jwks, keyHistory),
    expected:
      exceptions[name] ?? (reason === null ? "valid" : refusalReasons[reason as RefusalReason].verdict),
  }));
}

/** Makes envelopes with times around this machine's clock. A clock may be wrong by 30 seconds. */
async function clockCases(): Promise<Case[]> {
  const now = Math.floor(Date.now() / 1000);
  const made = [
    ["signed now", { iat: now }, "valid"],
    ["signed by a clock that is 30 s ahead", { iat: now + 30 }, "valid"],
    ["signed in an hour", { iat: now + 3600 }, "refused"],
    ["expired an hour ago", { iat: now - 7200, exp: now - 3600 }, "refused"],
    ["expires in an hour", { iat: now, exp: now + 3600 }, "valid"],
    ["valid from in an hour", { iat: now, nbf: now + 3600 }, "refused"],
    ["valid since an hour", { iat: now, nbf: now - 3600 }, "valid"],
  ] as const;
  return Promise.all(made.map(([name, change, due]) => caseOf(name, JSON.stringify(envelope(change)), due)));
}

/** Two languages run every answer, the others one answer with each kind of list. */
function listCasesOf({ isWhole }: Language, all: readonly Case[]): readonly Case[] {
  const [first = ""] = all[0]?.name.split(",") ?? [];
  return isWhole ? all : all.filter(({ name }) => name.startsWith(`${first},`));
}

/** One answer with each kind of list, and each answer without a list and with one that withdraws it. */
async function listCases(): Promise<Case[]> {
  const now = Math.floor(Date.now() / 1000);
  // A list of exactly seven days is older when the example reads it.
  const { "seven days old": _, ...kinds } = kindsAt(now);
  const history = await Bun.file(join(fixtures, "keys", "history.jose")).text();
  const all = Object.entries(envelopesAt(now)).flatMap(([name, one], index) => {
    const asked = Object.entries(kinds).filter(
      ([kind]) => index === 0 || (kind === "set" && one.alone === null),
    );
    return [["none", null] as const, ...asked].map(async ([kind, list]): Promise<Case> => {
      const words = wordsOf(await place(`of ${name}`, one.input));
      const [only = "", ...others] = list?.lists ?? [];
      const isAlone = kind !== "set" && only !== "" && others.length === 0;
      const content = isAlone ? `${only}\n` : offlinePack(history, list?.lists ?? []);
      if (list !== null) words.push(await place(`list ${kind}`, content));
      return { name: `${name}, list ${kind}`, words, expected: dueReason(one, list) ?? "valid" };
    });
  });
  return Promise.all(all);
}

/** A genuine envelope in other encodings and as mail hands it on, with keys that an editor saved in UTF-16. */
async function damagedCases(): Promise<Case[]> {
  const json = JSON.stringify(envelope({ iat: Math.floor(Date.now() / 1000) }));
  const keyText = (name: string) => Bun.file(join(fixtures, "keys", name)).text();
  const [jwks, history] = [await keyText("jwks.json"), await keyText("history.jose")];
  const inUtf16 = await Promise.all([
    place("jwks-utf-16.json", utf16(`\uFEFF${jwks}`, "le")),
    place("history-utf-16.jose", utf16(`\uFEFF${history}`, "be")),
  ]);
  const pack = await place("pack-utf-16.json", utf16(`\uFEFF${offlinePack(history, [])}`, "le"));
  const genuine = await place("genuine.json", json);
  const texts = Object.entries(damagedTexts(json)).map(([name, { bytes, verdict }]) =>
    caseOf(name, bytes, verdict === "valid" ? "valid" : "TEXT_DAMAGED"),
  );
  return [
    ...(await Promise.all(texts)),
    { name: "keys in UTF-16", words: [genuine, ...inUtf16, issuer, audience], expected: "valid" },
    { name: "a pack in UTF-16", words: [...wordsOf(genuine), pack], expected: "valid" },
  ];
}

/** Tokens of the other types that the service signs, with the claims of an envelope; and a mark inside a header. */
async function typeCases(): Promise<Case[]> {
  const types = ["tvs-statement+jwt", "secevent+jwt", "key-history+jwt", "statuslist+jwt", "at+jwt"];
  const { signature } = envelope({ iat: Math.floor(Date.now() / 1000) }) as { signature: string };
  const claims = Buffer.from(signature.split(".")[1] ?? "", "base64url").toString();
  const header = (typ?: string) =>
    JSON.stringify({ alg: "RS256", kid: keys.active.kid, ...(typ && { typ }) });
  const cases = [
    ...types.map((typ) => [typ, header(typ), "HEADER_TYP"] as const),
    ["JWT", header("JWT"), "valid"] as const,
    ["no type", header(), "valid"] as const,
    ["a mark in the header", `\uFEFF${header("JWT")}`, "JWS_MALFORMED"] as const,
  ];
  const signed = (written: string) => signTexts(written, claims, "active");
  return Promise.all(cases.map(([name, written, expected]) => caseOf(name, signed(written), expected)));
}

/** Runs the example. @returns its verdict, or its reason where a reason is expected, or its whole output if that is an unknown reason. */
async function answerOf(start: readonly string[], { words, expected }: Case): Promise<string> {
  const env = makeExampleEnvironment(folder);
  const { code, stdout: said, stderr: error } = await runToEnd([...start, ...words], { env, cwd: folder });
  const verdict = verdicts[code];
  const isKnown = said === "valid\n" ? code === 0 : code !== 0 && said.trim() in refusalReasons;
  if (!isKnown || error !== "" || verdict === undefined) return `${code}: ${said}${error}`;
  return expected in refusalReasons ? said.trim() : verdict;
}

/** Verifies two cases at a time, because each case is a process. */
async function verifyAll(language: Language, all: readonly Case[]): Promise<string[][]> {
  const start = await language.prepare("verify", folder);
  const found: string[][] = [];
  const waiting = [...all.entries()];
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, one] = next;
      found[index] = [one.name, await answerOf(start, one)];
    }
  };
  await Promise.all([work(), work()]);
  return found;
}

test("every fixture that this file exempts from the comparison with tvs verify exists", () => {
  const names = cases.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining([...Object.keys(exceptions), ...byTheClock]));
});

const casesOf: Readonly<Record<string, (language: Language) => Promise<readonly Case[]>>> = {
  "answers its fixtures as the verifier does": async (language) => [
    ...fixtureCases(language),
    ...(await clockCases()),
  ],
  "finds a withdrawn answer as the verifier does": async (language) =>
    listCasesOf(language, await listCases()),
  "reads UTF-16, and refuses no genuine text that mail or an editor has changed": damagedCases,
  "refuses every other type of token that the service signs": typeCases,
};
for (const [name, cases] of Object.entries(casesOf)) {
  testEachLanguage(
    `the example verify ${name}`,
    async (language) => {
      const all = await cases(language);
      const expected = all.map((one) => [one.name, one.expected]);
      expect(await verifyAll(language, all)).toEqual(expected);
    },
    600_000,
  );
}

testEachLanguage(
  "the example verify refuses a member that occurs twice, however far apart",
  async (language) => {
    const [first = "", ...start] = await language.prepare("verify", folder);
    const words = wordsOf(join(folder, "long.json"));
    const genuine = envelope({ iat: Math.floor(Date.now() / 1000) });
    // The text before the long member has as many members as a reader counts that keeps the last of two equal ones.
    const result = genuine.result as { eligible: boolean };
    const forged = JSON.stringify({ ...genuine, result: { ...result, eligible: !result.eligible } });
    const ignored = `"ignored":"${"\\n".repeat(1_200_000)}"`;
    const second = `"result":${JSON.stringify(result)}}`;
    await writeFile(words[0] ?? "", `${forged.slice(0, -1)},${ignored},${second}`);
    // PHP finds strings by PCRE, which gives up earlier where it has no JIT.
    const slow = language.name === "php" ? ["-d", "pcre.jit=0"] : [];
    const said = await answerOf([first, ...slow, ...start], { name: "", words, expected: "" });
    expect(["refused", "undecidable"]).toContain(said);
  },
);
