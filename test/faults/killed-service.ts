/** Compares the answers and checkpoints of a service that was killed with its database. */
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
import { integrityErrorOf } from "./killed.ts";
import { openDatabase, type Register } from "./register.ts";

/** A pinned checkpoint after a kill; `reach` is the number of attestations at that time. */
export type PinnedHead = TreeHead & { readonly reach: number };

type TreeHead = Pick<Checkpoint, "size" | "root">;

const pauseMs = 20;

/** Fetches the newest checkpoint repeatedly, until it is stopped. @param url returns the service's present URL */
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

/** Reads a checkpoint's size and root hash. @throws Error if the bytes are not a checkpoint */
function treeHeadIn(bytes: Uint8Array): TreeHead {
  const note = readNote(bytes);
  const head = note instanceof Refusal ? note : readTreeHead(note.text);
  if (head instanceof Refusal) throw new Error(`no checkpoint: ${head.reason}`);
  return head;
}

/** Reads a stopped node's pinned checkpoint and its number of attestations. @returns null if it has no checkpoint */
export async function pinnedHeadOf(dataDir: string, register: Register): Promise<PinnedHead | null> {
  const file = join(dataDir, "log.checkpoint");
  if (!existsSync(file)) return null;
  const head = treeHeadIn(readFileSync(file));
  const database = await openDatabase(register);
  const [row] = await database.query("SELECT coalesce(max(id), 0) AS reach FROM attestations");
  await database.close();
  return { ...head, reach: Number(row?.reach) };
}

type Outcome = {
  readonly register: Register;
  /** Every checkpoint that a service showed. */
  readonly checkpoints: readonly TreeHead[];
  readonly load: KeyedLoad;
  readonly heads: readonly PinnedHead[];
  /** The messages of commands that failed. */
  readonly unexpected: readonly string[];
};

/** Compares everything with the database after the load has ended. @returns the broken promises, by kind */
export async function compareWithDatabase(outcome: Outcome) {
  const { register, checkpoints, load, heads, unexpected } = outcome;
  const audit = await runTvs(["log", "audit"], register);
  const database = await openDatabase(register);
  try {
    const rows = await attestationsOf(database);
    const isWhole = rows.every((row, n) => Number(row.id) === n + 1);
    if (!isWhole) throw new Error("the ids of the attestations have gaps");
    const states = [...checkpoints, ...heads];
    const roots = rootsAt(rows, states);
    const isOther = ({ size, root }: TreeHead) => {
      const own = roots.get(size);
      return own === undefined || !isSameHash(own, root);
    };
    return {
      ...(await load.compare(database)),
      damage: await integrityErrorOf(database),
      unexpected,
      // Published and pinned checkpoints whose root is not that of the committed attestations.
      notWhatWasAttested: states.filter(isOther).map(({ size }) => `of size ${size}`),
      // Pinned checkpoints that were larger than the database just after the kill.
      headsAhead: heads.flatMap(({ size, reach }) => (size > reach ? [`${size} > ${reach}`] : [])),
      audit: audit.code === 0 ? "" : `${audit.stdout}${audit.stderr}`,
    };
  } finally {
    await database.close();
  }
}

/** The rows of one query: the answer of a libSQL server has ten megabytes at most. */
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

/** Computes the root hash of each size, without code of the evidence log or of the partners' package. */
function rootsAt(rows: readonly Row[], states: readonly TreeHead[]): ReadonlyMap<number, Uint8Array> {
  const kind = Buffer.from("tvs/v1/attestation\n");
  const leaves = rows.map(({ jws }) =>
    leaf(Buffer.concat([kind, createHash("sha256").update(String(jws)).digest()])),
  );
  const covered = [...new Set(states.map(({ size }) => size))].filter(
    (size) => size > 0 && size <= leaves.length,
  );
  return new Map(covered.map((size) => [size, mth(leaves.slice(0, size))]));
}
