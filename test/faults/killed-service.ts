/** Compares a register and its evidence log after kills with the attestations. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Checkpoint, readTreeHead } from "../../src/partner/log-checkpoint.ts";
import { isSameHash } from "../../src/partner/merkle-proof.ts";
import { Refusal } from "../../src/partner/reasons.ts";
import { readNote } from "../../src/partner/signed-note.ts";
import type { Driver, Row } from "../../src/store/driver/driver.ts";
import { leaf, mth } from "../fixtures/rfc6962.ts";
import { sleep } from "../harness/eventually.ts";
import { runTvs } from "../harness/program.ts";
import type { KeyedLoad } from "./keyed-load.ts";
import { damageOf } from "./killed.ts";
import { openDatabase, type Register } from "./register.ts";

/** A pinned checkpoint after a kill, and the number of attestations at that time. */
export type HeadSeen = TreeHead & { readonly reach: number };

type TreeHead = Pick<Checkpoint, "size" | "root">;

const pauseMs = 20;

/** Fetches the newest checkpoint again and again. @param url returns the current URL of the service */
export function collectCheckpoints(url: () => string) {
  const seen: TreeHead[] = [];
  let isOver = false;
  const running = (async () => {
    while (!isOver) {
      const response = await fetch(`${url()}/v1/inter-agency/log/checkpoint`).catch(() => null);
      const bytes = response?.status === 200 ? await response.bytes().catch(() => null) : null;
      if (bytes !== null) seen.push(treeHeadIn(bytes));
      await sleep(pauseMs);
    }
  })();
  const stop = async () => {
    isOver = true;
    await running;
  };
  return { seen, stop };
}

/** @throws Error for bytes that are no checkpoint */
function treeHeadIn(bytes: Uint8Array): TreeHead {
  const note = readNote(bytes);
  const head = note instanceof Refusal ? note : readTreeHead(note.text);
  if (head instanceof Refusal) throw new Error(`no checkpoint: ${head.reason}`);
  return head;
}

/** Reads the pinned checkpoint of a stopped node, and the size of its database. @returns null without a checkpoint */
export async function headOf(dataDir: string, register: Register): Promise<HeadSeen | null> {
  const file = join(dataDir, "log.checkpoint");
  if (!existsSync(file)) return null;
  const head = treeHeadIn(readFileSync(file));
  const database = await openDatabase(register);
  const [row] = await database.query("SELECT coalesce(max(id), 0) AS reach FROM attestations");
  await database.close();
  return { ...head, reach: Number(row?.reach) };
}

type Judging = {
  readonly register: Register;
  /** Every checkpoint that a service showed. */
  readonly checkpoints: readonly TreeHead[];
  readonly load: KeyedLoad;
  readonly heads: readonly HeadSeen[];
  /** Failures of commands, in words. */
  readonly unexpected: readonly string[];
};

/** Compares everything with the database after the load has ended. @returns the faults, by kind */
export async function judgeService(judging: Judging) {
  const { register, checkpoints, load, heads, unexpected } = judging;
  const audit = await runTvs(["log", "audit"], register);
  const database = await openDatabase(register);
  try {
    const rows = await attestationsOf(database);
    const isWhole = rows.every((row, n) => Number(row.id) === n + 1);
    if (!isWhole) throw new Error("the ids of the attestations have gaps");
    const states = [...checkpoints, ...heads];
    const roots = rootsAt(
      rows.map((row) => String(row.jws)),
      states.map(({ size }) => size),
    );
    const isOther = ({ size, root }: TreeHead) => {
      const own = roots.get(size);
      return own === undefined || !isSameHash(own, root);
    };
    return {
      ...(await load.judge(database)),
      damage: await damageOf(database),
      unexpected,
      // Published and pinned checkpoints with another root than that of the committed attestations.
      notWhatWasAttested: states.filter(isOther).map(({ size }) => `of size ${size}`),
      // Pinned checkpoints that were larger than the database just after the kill.
      headsAhead: heads
        .filter(({ size, reach }) => size > reach)
        .map(({ size, reach }) => `${size} > ${reach}`),
      audit: audit.code === 0 ? "" : `${audit.stdout}${audit.stderr}`,
    };
  } finally {
    await database.close();
  }
}

/** A libSQL server sends at most ten megabytes in a reply. */
const rowsAtOnce = 2_000;

async function attestationsOf(database: Driver): Promise<Row[]> {
  const rows: Row[] = [];
  for (let more = true; more; ) {
    const sql = "SELECT id, jws FROM attestations WHERE id > ? ORDER BY id LIMIT ?";
    const block = await database.query(sql, [Number(rows.at(-1)?.id ?? 0), rowsAtOnce]);
    rows.push(...block);
    more = block.length === rowsAtOnce;
  }
  return rows;
}

/** Computes the roots over the first envelopes, without the code of the log or of the partners' package. */
function rootsAt(envelopes: readonly string[], sizes: readonly number[]): ReadonlyMap<number, Uint8Array> {
  const leaves = envelopes.map((jws) =>
    leaf(Buffer.concat([Buffer.from("tvs/v1/attestation\n"), sha256(jws)])),
  );
  const covered = [...new Set(sizes)].filter((size) => size > 0 && size <= leaves.length);
  return new Map(covered.map((size) => [size, mth(leaves.slice(0, size))]));
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
