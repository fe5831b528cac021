import type { Stores } from "../../cli/open.ts";
import { auditLog } from "../../src/domain/evidence/audit.ts";
import { createSignatureChecks } from "../../src/domain/evidence/audit-rows.ts";
import { linkOf, linkTo, treeHeadOf } from "../../src/domain/evidence/chain.ts";
import { readMark } from "../../src/domain/evidence/retention-mark.ts";
import { nodeTimes } from "../../src/domain/nodes.ts";
import type { Row, Statement, Value } from "../../src/store/driver/driver.ts";
import { createAuditStore } from "../../src/store/evidence/audit.ts";
import { secrets } from "../harness/samples.ts";
import type { SharedDatabase } from "./database.ts";
import type { Process } from "./world.ts";

type Read = (sql: string, args?: readonly Value[]) => Row[];

const epochsSql =
  "SELECT epoch, first_id, size, previous, sealed IS NULL AS closed FROM log_epochs ORDER BY epoch";
const checkpointsSql = "SELECT epoch, size, note FROM log_checkpoints ORDER BY epoch, size";
const leaseSql = "SELECT node_id, fence, expires_at FROM leases WHERE name = 'housekeeping'";
const deliveriesSql = "SELECT id, lease, due_at, state, attempts FROM deliveries ORDER BY id";

/** Of what only the service does that keeps house. */
const housework =
  /^(UPDATE teachers|DELETE FROM attestations|DELETE FROM quota_windows|UPDATE log_epochs SET size =[\s\S]* NOT EXISTS)/;

/**
 * What must hold in the database after each commit, whoever made it, compared with what was there before.
 * @param allowedMs by how much clocks may be wrong in this run
 */
export function createWitness(read: Read, now: () => number, allowedMs: number) {
  const holders = new Map<number, string>();
  let lease: Row | undefined;
  let epochs: Row[] = [];
  let checkpoints: Row[] = [];
  let deliveries = new Map<unknown, Row>();

  const nodeOf = (holder: unknown) => String(holder).slice(0, 36);
  const isLive = (nodeId: string) =>
    read("SELECT 1 FROM nodes WHERE node_id = ? AND seen_at >= ?", [nodeId, now() - nodeTimes.goneMs])
      .length > 0;

  /** A lease goes to another one only when it has ended or was given back, and then under a higher fence. */
  function checkLease(): void {
    const before = lease;
    [lease] = read(leaseSql);
    if (lease === undefined) return;
    const [fence, holder] = [Number(lease.fence), String(lease.node_id)];
    if ((holders.get(fence) ?? holder) !== holder) throw new Error(`fence ${fence} has two holders`);
    holders.set(fence, holder);
    if (before === undefined || before.node_id === holder) return;
    if (fence <= Number(before.fence)) throw new Error("the fence went back");
    if (Number(before.expires_at) >= now()) throw new Error("a lease was taken from who held it");
  }

  function checkHousework(texts: readonly string[], process: Process): void {
    if (!process.isService || !texts.some((text) => housework.test(text))) return;
    const { nodeId } = process as Process & { nodeId: string };
    if (read(leaseSql)[0]?.node_id !== nodeId)
      throw new Error(`${process.name} keeps house without the lease`);
  }

  function checkEpochs(): void {
    const before = epochs;
    epochs = read(epochsSql);
    for (const [at, was] of before.entries()) {
      const is = epochs[at];
      const next = epochs[at + 1];
      const isClosing = was.closed === 0 && is?.closed === 1;
      if (is === undefined || is.first_id !== was.first_id || is.previous !== was.previous)
        throw new Error("an epoch was changed");
      if (was.closed === 1 && is.size !== was.size) throw new Error("a closed epoch has got another size");
      if (!isClosing && Number(is.size) < Number(was.size)) throw new Error("the log got shorter");
      if ((next !== undefined) !== (is.closed === 1)) throw new Error("not only the newest epoch is open");
      if (next === undefined) continue;
      // An epoch that was closed before it had signed for anything has no entry, not even its first.
      const entries = Math.max(0, Number(is.size) - (is.previous === null ? 0 : 1));
      if (next.first_id !== Number(is.first_id) + entries)
        throw new Error("an entry is in two epochs, or in none");
    }
  }

  function checkCheckpoints(): void {
    const before = checkpoints;
    checkpoints = read(checkpointsSql);
    for (const [at, was] of before.entries())
      if (checkpoints[at]?.note !== was.note)
        throw new Error("a checkpoint was changed, or one came before it");
    for (let at = before.length; at < checkpoints.length; at++) {
      const link = linkOf(treeHeadOf(String(checkpoints[at]?.note)));
      if (link !== linkTo(at === 0 ? null : String(checkpoints[at - 1]?.note)))
        throw new Error("a checkpoint does not name the one before it");
    }
  }

  /** Nobody takes a delivery from a node that lives and whose lease lasts. */
  function checkDeliveries(process: Process): void {
    const before = deliveries;
    deliveries = new Map(read(deliveriesSql).map((row) => [row.id, row]));
    for (const [id, was] of before) {
      const is = deliveries.get(id);
      if (is === undefined) throw new Error("a delivery is gone");
      if (Number(is.attempts) < Number(was.attempts)) throw new Error("an attempt is gone");
      if (was.state === "delivered" && is.state !== "delivered")
        throw new Error("a delivery was made undone");
      const holder = nodeOf(was.lease);
      const isOwn = (process as Partial<{ nodeId: string }>).nodeId === holder;
      if (is.attempts !== was.attempts && !isOwn)
        throw new Error("an attempt was recorded by who has no lease");
      if (was.lease === null || was.lease === is.lease) continue;
      if (!isOwn && Number(was.due_at) > now() + allowedMs && isLive(holder))
        throw new Error(`${process.name} took a delivery from a node that has it`);
    }
  }

  return (statements: readonly Statement[], process: Process): void => {
    const texts = statements.map((one) => ("sql" in one ? one.sql : one.insert.table));
    const concerns = (name: string) => texts.some((text) => text.includes(name));
    checkHousework(texts, process);
    if (concerns("leases")) checkLease();
    if (concerns("log_epochs")) checkEpochs();
    if (concerns("log_checkpoints")) checkCheckpoints();
    if (concerns("deliveries")) checkDeliveries(process);
  };
}

/** The log as a run left it, for who reads why it failed. */
export function describeLog(read: Read): string {
  const [mark] = read("SELECT mark FROM attestation_upkeep");
  const [ids] = read("SELECT min(id) AS first, max(id) AS last FROM attestations");
  const signed = read(checkpointsSql).map(({ epoch, size }) => `${epoch}:${size}`);
  const [lease] = read(leaseSql);
  return JSON.stringify({ lease, epochs: read(epochsSql), signed, ids, mark: mark?.mark });
}

/** What must be so when nothing fails any more and the nodes had their time: what is missing yet, null when nothing is. */
export function missingYet(
  read: Read,
  {
    notes,
    prunedTo,
    expired,
  }: { notes: readonly (string | null)[]; prunedTo: number; expired: readonly string[] },
): string | null {
  const count = (sql: string, args: readonly Value[] = []) => Number(read(sql, args)[0]?.n);
  const [newest] = read("SELECT note FROM log_checkpoints ORDER BY epoch DESC, size DESC LIMIT 1");
  const [open] = read(`${epochsSql} DESC LIMIT 1`);
  const last = count("SELECT coalesce(max(id), 0) AS n FROM attestations");
  if (open === undefined) return "there is no log";
  const next = Number(open.first_id) + Number(open.size) - (open.previous === null ? 0 : 1);
  if (next <= last) return "attestations are not in the log";
  if (newest !== undefined && last > 0 && treeHeadOf(String(newest.note)).size !== open.size)
    return "the log is not signed for";
  if (notes.some((note) => note !== (newest?.note ?? null)))
    return "a machine does not keep the newest checkpoint";
  if (count("SELECT count(*) AS n FROM deliveries WHERE state <> 'delivered'") > 0)
    return "a delivery is not made";
  if (
    count(
      "SELECT count(*) AS n FROM attestations WHERE id <= ? AND id < (SELECT max(id) FROM attestations)",
      [prunedTo],
    ) > 0
  )
    return "what is old is not deleted";
  const told = (regNo: string) =>
    count(
      `SELECT count(*) AS n FROM events WHERE event_type = 'license.expired'
        AND teacher_id = (SELECT id FROM teachers WHERE reg_no = ?)`,
      [regNo],
    );
  if (expired.some((regNo) => told(regNo) === 0)) return "the end of a licence was not announced";
  return null;
}

const deliveriesMadeSql = `SELECT delivery_id, attempts,
  (SELECT count(*) FROM delivery_attempts WHERE delivery = deliveries.id) AS noted FROM deliveries`;
const expiredSql = `SELECT reg_no FROM events JOIN teachers ON teachers.id = teacher_id
  WHERE event_type = 'license.expired' ORDER BY reg_no`;

/** What must be so at the very end. @throws Error */
export async function expectWhole(
  { driver, read, now }: SharedDatabase,
  { evidence, maintenance }: Stores,
  at: { head: string | null; received: ReadonlyMap<string, number>; expired: readonly string[] },
): Promise<void> {
  const audited = await auditLog({
    store: createAuditStore(driver),
    epochs: evidence.epochs,
    head: at.head,
    secrets,
    now: now(),
    mark: () => readMark({ maintenance, secrets }, { isOld: at.head === null, now: now() }),
    signatures: createSignatureChecks([], { all: false }),
    onProgress() {},
  });
  const [finding] = audited?.findings ?? [];
  if (finding !== undefined) throw new Error(`the audit says: ${finding.says}`);
  const lost = audited?.epochs.reduce((sum, epoch) => sum + epoch.lost, 0) ?? 0;
  if (lost > 0) throw new Error(`${lost} attestations count as lost`);
  for (const row of read(deliveriesMadeSql)) {
    if (row.noted !== row.attempts) throw new Error("an attempt was not recorded");
    if (!at.received.has(String(row.delivery_id))) throw new Error("a delivery was never made");
  }
  const told = read(expiredSql).map((row) => row.reg_no);
  if (String(told) !== String(at.expired)) throw new Error(`ends of licences that were announced: ${told}`);
}
