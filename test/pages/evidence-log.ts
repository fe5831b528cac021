/** A log as a partner sees it: its key, and proofs of what is in it. Made here, so that a test can make bad ones too. */

import { signCheckpoint } from "../../src/partner/log-checkpoint.ts";
import { formatVerifierKey } from "../../src/partner/signed-note.ts";
import { leafOf, proofOf } from "../fixtures/log-notes.ts";
import { mth, path as pathOf } from "../fixtures/rfc6962.ts";
import { aCheckpointKey } from "../harness/checkpoint-key.ts";

function numbered(count: number): Buffer[] {
  return Array.from({ length: count }, (_, index) => leafOf(`other ${index}`));
}

/** A log under a key of its own, named by its origin. */
export async function makeLog(origin: string) {
  const key = aCheckpointKey();

  async function write(at: Date, { index, size, path, root }: Inclusion): Promise<string> {
    const head = { origin, size, root: new Uint8Array(root) };
    const checkpoint = await signCheckpoint(head, Math.floor(at.getTime() / 1000), key);
    return proofOf(index, path, checkpoint);
  }

  return {
    key: `${await formatVerifierKey(origin, key.publicKey)}\n`,
    /** The proof that the log had an envelope at a time, after others. */
    prove(jws: string, at: Date, others = 4): Promise<string> {
      const leaves = [...numbered(others), leafOf(jws)];
      const [size, root] = [leaves.length, mth(leaves)];
      return write(at, { index: others, size, path: pathOf(others, leaves), root });
    },
  };
}

type Inclusion = { index: number; size: number; path: readonly Buffer[]; root: Buffer };
