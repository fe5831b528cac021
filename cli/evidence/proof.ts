import { Buffer } from "node:buffer";
import { TvsError } from "../../src/domain/errors.ts";
import { treeHeadOf } from "../../src/domain/evidence/chain.ts";
import { createEvidenceReader, type Inclusion } from "../../src/domain/evidence/evidence.ts";
import { leafHash } from "../../src/domain/evidence/tree.ts";
import { encodeBase64 } from "../../src/partner/base64.ts";
import { formatLogProof } from "../../src/partner/log-proof.ts";
import { flag, operand, option } from "../command.ts";
import type { Operator } from "../open.ts";
import { operatorCommand } from "../operator-command.ts";
import { prepareIfNamed } from "../safe/output-file.ts";
import { note, print } from "../terminal/output.ts";
import { checkpointOfAll, noLog } from "./open-evidence.ts";

export const proveCommand = operatorCommand({
  description:
    "Print the proof that an attestation is in the evidence log (C2SP tlog-proof), by the earliest checkpoint that " +
    "covers it; one is signed when none does yet",
  example:
    "tvs attestations prove 019aa3b4-7f11-7c22-b5d1-0c9f5b1a2c3d > envelope.proof\n" +
    "  tvs attestations prove --leaf HASH   # of one that was deleted by age",
  args: {
    id: { ...operand("The envelope's `verificationId`"), required: false },
    leaf: option(
      "HASH",
      "Instead of the id: the leaf's hash, 64 hex digits. It stays when the attestation is deleted",
    ),
    out: option("FILE", "Write it to this file, which must not exist yet"),
    force: flag("Replace the file"),
  },
  prepare: ({ out: path, force }, config) => prepareIfNamed({ flag: "--out", path, force, config }),
  async act(operator, args, file) {
    const leaf = await leafOf(operator, args);
    const inclusion = await prove(operator, leaf);
    const proof = formatLogProof({ ...inclusion, note: inclusion.checkpoint });
    await file?.write(proof);
    const described = describe(inclusion, { leaf, proof });
    print(args, described, () => (file === undefined ? proof : ""));
    if (file !== undefined) note(`wrote the proof to ${file.path}`);
  },
});

async function leafOf(
  { attestations }: Operator,
  { id, leaf }: { id?: string | undefined; leaf?: string | undefined },
): Promise<Uint8Array> {
  if ((id === undefined) === (leaf === undefined))
    throw new TvsError("USAGE", "give a verification id, or --leaf HASH, and not both");
  if (leaf !== undefined) {
    if (/^[0-9a-f]{64}$/.test(leaf)) return new Uint8Array(Buffer.from(leaf, "hex"));
    throw new TvsError("USAGE", "--leaf must be 64 lower-case hex digits");
  }
  const one = await attestations.find((id ?? "").trim().toLowerCase());
  if (one !== null) return leafHash(one.jws);
  throw new TvsError(
    "NOT_KNOWN",
    "no attestation has this verification id; of one that was deleted by age the leaf is still there, see --leaf",
  );
}

async function prove(operator: Operator, leaf: Uint8Array): Promise<Inclusion> {
  const { evidence } = operator;
  const reader = createEvidenceReader(evidence);
  let found = await reader.inclusion(leaf);
  if (found === null) {
    await checkpointOfAll(operator);
    found = await reader.inclusion(leaf);
  }
  if (found !== null && found !== "no-checkpoint") return found;
  if ((await evidence.epochs()).length === 0) throw noLog();
  throw new TvsError("NOT_KNOWN", "no leaf of the evidence log has this hash");
}

function describe(
  { index, size, hashes, checkpoint }: Inclusion,
  { leaf, proof }: { leaf: Uint8Array; proof: string },
) {
  return {
    origin: treeHeadOf(checkpoint).origin,
    leafHash: Buffer.from(leaf).toString("hex"),
    leafIndex: index,
    treeSize: size,
    hashes: hashes.map(encodeBase64),
    checkpoint,
    proof,
  };
}
