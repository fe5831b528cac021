import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { logWriterOf } from "../../../cli/evidence/open-evidence.ts";
import { verifierKeyOf } from "../../../src/domain/evidence/log.ts";
import { computeRoot, makeConsistencyProof, makeInclusionProof } from "../../../src/domain/evidence/tree.ts";
import { readTreeHead } from "../../../src/partner/log-checkpoint.ts";
import {
  isConsistencyProven,
  leafHashOfAttestation,
  rootOfInclusionProof,
} from "../../../src/partner/merkle-proof.ts";
import { readNote, readVerifierKey, verifyEd25519 } from "../../../src/partner/signed-note.ts";
import { attestCalls } from "../../harness/evidence-log.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { withTestContext } from "../../harness/service.ts";

/** The folder of Debian's package golang-golang-x-mod-dev, which Go finds without modules and without a network. */
const goPath = "/usr/share/gocode";
const hasSumdb = Bun.which("go") !== null && existsSync(join(goPath, "src/golang.org/x/mod/sumdb"));

const leaves = 11;
const sizes = Array.from({ length: leaves }, (_, at) => at + 1);
const encode = (hash: Uint8Array) => Buffer.from(hash).toString("base64");
const decode = (text: string) => new Uint8Array(Buffer.from(text, "base64"));

type Inclusion = { Index: number; Size: number; Hashes: string[] };
type Consistency = { From: number; To: number; Hashes: string[] };
type Question = {
  Vkey: string;
  Note: string;
  Jws: string[];
  Roots: string[];
  Inclusions: Inclusion[];
  Consistency: Consistency[];
};
type Answer = Omit<Question, "Jws"> & { Text: string; Verified: number; Wrong: string[] };

/** Collects every proof of a log of eleven attestations. */
function askOfLog(dataDir: string): Promise<Question> {
  return withTestContext(dataDir, async (operator) => {
    const { evidence } = operator.stores;
    const [log] = await evidence.logs();
    const checkpoint = await logWriterOf(operator).checkpoint();
    if (log === undefined || checkpoint === null) throw new Error("there is no log");
    const read = evidence.tiles;
    const question: Question = {
      Vkey: await verifierKeyOf(log),
      Note: checkpoint.note,
      Jws: (await evidence.attested(1, leaves)).map(({ jws }) => jws),
      Roots: [],
      Inclusions: [],
      Consistency: [],
    };
    for (const size of sizes) {
      question.Roots.push(encode(await computeRoot(size, read)));
      for (let index = 0; index < size; index++) {
        const hashes = (await makeInclusionProof(index, size, read)).map(encode);
        question.Inclusions.push({ Index: index, Size: size, Hashes: hashes });
        const grown = (await makeConsistencyProof(index + 1, size, read)).map(encode);
        question.Consistency.push({ From: index + 1, To: size, Hashes: grown });
      }
    }
    return question;
  });
}

function askGo(question: Question): Answer {
  const { exitCode, stdout, stderr } = Bun.spawnSync(["go", "run", join(import.meta.dir, "sumdb.go")], {
    stdin: Buffer.from(JSON.stringify(question)),
    env: { ...process.env, GOPATH: goPath, GO111MODULE: "off", GOFLAGS: "", GOPROXY: "off" },
    stderr: "pipe",
  });
  if (exitCode !== 0) throw new Error(stderr.toString());
  return JSON.parse(stdout.toString()) as Answer;
}

describe.skipIf(!hasSumdb)("Go's checksum database and the evidence log", () => {
  const dataDir = sharedFolder();
  let question: Question;
  let answer: Answer;
  beforeAll(async () => {
    await attestCalls(dataDir, leaves);
    question = await askOfLog(dataDir);
    answer = askGo(question);
  });

  test("Go's checksum database code accepts the log's key and both signatures of a checkpoint", () => {
    expect(answer.Verified).toBe(2);
    expect(question.Note.startsWith(`${answer.Text}\n`)).toBe(true);
    expect(readTreeHead(answer.Text)).toMatchObject({ origin: "verify.example.gov/log", size: leaves });
  });

  test("Go's checksum database code computes the same roots from the same attestations, and accepts all proofs of the log", () => {
    expect(answer.Roots).toEqual(question.Roots);
    expect(answer.Wrong).toEqual([]);
    expect(question.Inclusions).toHaveLength(66);
  });

  test("the partner module accepts every proof that Go's checksum database code makes", async () => {
    const roots = answer.Roots.map(decode);
    const rootAt = (size: number) => roots[size - 1] as Uint8Array<ArrayBuffer>;
    for (const { Index: index, Size: size, Hashes } of answer.Inclusions) {
      const leafHash = await leafHashOfAttestation(question.Jws[index] ?? "");
      const root = await rootOfInclusionProof({ leafHash, index, size, hashes: Hashes.map(decode) });
      expect({ index, size, root }).toEqual({ index, size, root: rootAt(size) });
    }
    for (const { From: from, To: to, Hashes } of answer.Consistency) {
      // Go encodes the empty proof between trees of the same size as null.
      const roots = { fromRoot: rootAt(from), toRoot: rootAt(to) };
      const isGood = await isConsistencyProven({ from, to, ...roots, hashes: (Hashes ?? []).map(decode) });
      expect({ from, to, isGood }).toEqual({ from, to, isGood: true });
    }
  });

  test("the partner module verifies a note that Go signed, with the key that Go made", async () => {
    const key = await readVerifierKey(answer.Vkey);
    const note = readNote(answer.Note);
    if (key === null || !("signatures" in note)) throw new Error("neither may be refused");
    expect(note.text).toBe(answer.Text);
    const [signature] = note.signatures;
    expect(signature).toMatchObject({ name: "sumdb.example/log", keyId: key.keyId });
    const signed = signature?.signature ?? new Uint8Array();
    expect(await verifyEd25519(key.publicKey, new TextEncoder().encode(note.text), signed)).toBe(true);
  });
});
