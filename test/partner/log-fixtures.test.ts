import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { decodeBase64Hash } from "../../src/partner/base64.ts";
import { verifyCheckpoint } from "../../src/partner/log-checkpoint.ts";
import { isConsistencyProven } from "../../src/partner/merkle-proof.ts";
import {
  createKeySet,
  type LogProofOptions,
  openLogProof,
  Refusal,
  readEnvelopes,
  readLogKeys,
  readLogState,
  verifyEnvelope,
} from "../../src/partner/partner.ts";
import { readVerifierKey } from "../../src/partner/signed-note.ts";
import type { LogCase, LogCases } from "../fixtures/log-cases.ts";
import { logFolder } from "../fixtures/log-notes.ts";
import { checkpoints, envelopes, honestProof } from "../fixtures/log-world.ts";

const read = (path: string) => readFileSync(join(logFolder, path));
const index: LogCases = JSON.parse(read("cases.json").toString());
const sentences: Record<string, string[]> = JSON.parse(read("../log-sentences.json").toString());
const { issuer, audience } = index;
const now = new Date(index.now);
const keys = await createKeySet({ jwks: read(index.jwks), keyHistory: read(index.keyHistory), issuer });

function unrefused<T>(value: T | Refusal): T {
  if (value instanceof Refusal) throw new Error(value.detail);
  return value;
}

async function keysOf(path: string) {
  return unrefused(await readLogKeys(read(path)));
}

async function verifyCase({ envelope, proof, logKeys, logState }: LogCase) {
  const [item] = readEnvelopes(read(envelope));
  if (item === undefined || "refusal" in item) throw new Error("nothing was found");
  const state: Pick<LogProofOptions, "logState"> =
    logState === null ? {} : { logState: unrefused(readLogState(read(logState))) };
  const opened =
    proof === null
      ? {}
      : { proof: await openLogProof(read(proof), { logKeys: await keysOf(logKeys), now, ...state }) };
  return verifyEnvelope(item.value, { keys, issuer, audience, now, ...opened });
}

for (const one of index.cases) {
  test(`the proof fixture ${one.name} gives the verdict ${one.reason ?? ["valid", ...one.warnings].join(", ")}`, async () => {
    const { verdict, reason, warnings, log, checks } = await verifyCase(one);
    const { verdict: due, reason: why, warnings: codes, log: evidence } = one;
    expect({ verdict, reason, warnings, log }).toEqual({
      verdict: due,
      reason: why,
      warnings: codes,
      log: evidence,
    } as never);
    const shown = checks.filter(({ name, ok }) => ok === false || ["log", "compromise"].includes(name));
    expect(shown.map(({ name, detail }) => `${name}: ${detail}`)).toEqual(sentences[one.name] ?? []);
  });
}

test("each checkpoint fixture is accepted, or is refused for the reason in cases.json", async () => {
  for (const { checkpoint, logKeys, reason } of index.checkpoints) {
    const opened = await verifyCheckpoint(read(checkpoint), await keysOf(logKeys));
    expect([checkpoint, opened instanceof Refusal ? opened.reason : null]).toEqual([
      checkpoint,
      reason as null,
    ]);
  }
});

test("each consistency proof fixture is accepted or refused as cases.json says", async () => {
  for (const { from, to, proof, consistent } of index.consistency) {
    const logKeys = await keysOf("keys/log.vkey");
    const [smaller, larger] = [
      unrefused(await verifyCheckpoint(read(from), logKeys)),
      unrefused(await verifyCheckpoint(read(to), logKeys)),
    ];
    const { hashes } = JSON.parse(read(proof).toString()) as { hashes: string[] };
    const given = {
      from: smaller.size,
      to: larger.size,
      fromRoot: smaller.root,
      toRoot: larger.root,
      hashes: hashes.map((hash) => decodeBase64Hash(hash) ?? new Uint8Array()),
    };
    expect([proof, await isConsistencyProven(given)]).toEqual([proof, consistent]);
  }
});

test("each log key fixture is accepted or refused as cases.json says", async () => {
  for (const { key, name } of index.keys) {
    expect([key, (await readVerifierKey(key))?.name ?? null]).toEqual([key, name]);
  }
  const { key = "" } = index.keys[0] ?? {};
  expect(await readLogKeys(`\n${key}\nkey`)).toMatchObject({
    detail: "Line 3 is not the key of a log.",
  } as never);
  for (const nothing of ["\n", Uint8Array.of(0xff)])
    expect(await readLogKeys(nothing)).toMatchObject({ detail: "There is no key." } as never);
  for (const list of ["", "\n", `${key}\nkey\n`, `${key}\r`, ` ${key}`, Uint8Array.of(0xff)])
    expect(await readLogKeys(list)).toMatchObject({ reason: "LOG_KEY_UNREADABLE" });
  for (const list of [key, `${key}\n`, `${key}\r\n`, `\n${key}\n\n`])
    expect(await readLogKeys(list)).toMatchObject([{ name: "teachers.example/log" }]);
});

test("readLogState refuses a whole file that is malformed or has one malformed checkpoint", () => {
  for (const name of ["not-json", "another-format", "no-list", "no-checkpoint", "two-of-one-log"]) {
    const state = readLogState(read(`states/unreadable-${name}.json`));
    expect(state).toMatchObject({ reason: "LOG_STATE_UNREADABLE" });
  }
});

test("the log fixtures equal the files that are made from the log's leaves and key", () => {
  for (const { file, content } of Object.values(envelopes)) expect(read(file).toString()).toBe(content);
  const { tomorrow, secondLog, other, ...own } = checkpoints;
  const named = { ...own, "log-2": secondLog, "of-another-log": other };
  for (const [name, { note }] of Object.entries(named))
    expect(read(`checkpoints/${name}`).toString()).toBe(note);
  const later = read("proofs/of-tomorrow.tlog-proof").toString();
  expect(later).toBe(honestProof("current", "tomorrow"));
  expect(read("proofs/current.tlog-proof").toString()).toBe(honestProof("current", "newest"));
});
