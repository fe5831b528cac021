/** The parsers of the evidence log's documents: the log must have signed every accepted input. */

import { strict as assert } from "node:assert";
import { createPublicKey, verify } from "node:crypto";
import { verifyCheckpoint } from "../../src/partner/log-checkpoint.ts";
import {
  openLogProof,
  Refusal,
  readLogKeys,
  refusalReasons,
  verifyEnvelope,
} from "../../src/partner/partner.ts";
import { logFolder, vkey } from "../fixtures/log-notes.ts";
import { checkpoints, honestProof, log, envelopes as logged } from "../fixtures/log-world.ts";
import { buffers, type FuzzedParser, filesOf, isAccepted, now, options } from "./parser-evidence.ts";

const logKeys = await readLogKeys(vkey(log));
if (logKeys instanceof Refusal) throw new Error(logKeys.detail);
const logKey = createPublicKey(log.privateKey);

/** Whether a note has both signatures of the log (C2SP signed-note and tlog-cosignature), the second with this time. */
function isSignedNote(note: Buffer, seconds: number): boolean {
  const end = note.lastIndexOf("\n\n") + 1;
  const text = note.subarray(0, end);
  const timed = Buffer.concat([Buffer.from(`cosignature/v1\ntime ${seconds}\n`), text]);
  const made = note.toString("utf8", end).match(/[\w+/]{60,}=*$/gm) ?? [];
  return [text, timed].every((message) =>
    made.some((line) => verify(null, message, logKey, Buffer.from(line, "base64").subarray(-64))),
  );
}

/** The signed parts of a proof: index, hashes and checkpoint, without extensions. */
const essence = (proof: string) =>
  proof
    .replace(/\nextra .*/, "")
    .split("\n\n")
    .slice(0, 2)
    .join("\n\n");
const honest = new Set(
  Object.values(checkpoints).flatMap(({ size }, at) =>
    size > logged.genuine.index
      ? [essence(honestProof("genuine", Object.keys(checkpoints)[at] as "first"))]
      : [],
  ),
);

const proof: FuzzedParser = {
  corpus: [
    ...buffers([honestProof("genuine", "before"), honestProof("genuine", "newest")]),
    ...filesOf(logFolder, "proofs"),
  ],
  share: 60,
  async accepts(input) {
    const opened = await openLogProof(input, { logKeys, now });
    if (opened.refusal !== null) assert(opened.refusal.reason in refusalReasons);
    const verification = await verifyEnvelope(logged.genuine.jws, { ...options, proof: opened });
    if (!isAccepted(verification)) return false;
    assert(honest.has(essence(input.toString())), "accepted a proof that the log never made");
    return true;
  },
};

const note: FuzzedParser = {
  corpus: filesOf(logFolder, "checkpoints"),
  share: 40,
  async accepts(input) {
    const opened = await verifyCheckpoint(input, logKeys);
    if (opened instanceof Refusal) return !(opened.reason in refusalReasons);
    assert(isSignedNote(input, opened.seconds), "accepted a checkpoint that the log never signed");
    return true;
  },
};

export const logs: Readonly<Record<string, FuzzedParser>> = { proofs: proof, checkpoints: note };
