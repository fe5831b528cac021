/** Opening a log and its epochs: each is a tree with an origin and an Ed25519 key of its own (decision D13.4). */

import { Buffer } from "node:buffer";
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { type CheckpointKey, openCheckpoint } from "../../partner/log-checkpoint.ts";
import { Refusal } from "../../partner/reasons.ts";
import { formatVerifierKey, readVerifierKey, type VerifierKey } from "../../partner/signed-note.ts";
import type { EvidenceStore } from "../../store/evidence/evidence.ts";
import type { Clock } from "../clock.ts";
import { TvsError } from "../errors.ts";
import type { Secrets } from "../secrets.ts";
import type { EpochOpening, LogEpoch } from "./evidence.ts";
import { appendTo, openingLeafHash } from "./tree.ts";

/**
 * The setting of a database whose log must not go on as it is. It counts only with the mark beside the master key that it
 * names ({@link DueEpoch}): then whoever signs next opens a new epoch, and the setting is gone in the same act.
 */
export const epochDueName = "log_epoch_due";

/** What `restore` has said beside the master key of the database that it put there (decision D13.4). */
export type DueEpoch = {
  /** What the database's setting has to repeat. */
  readonly token: string;
  /** The number of the epoch that is to be opened: once there is one of that number, the mark is over. */
  readonly epoch: number;
  /** Why, for everybody who looks at the log. */
  readonly reason: string;
};

/** What a log is opened with. */
export type LogOpening = {
  readonly store: EvidenceStore;
  readonly secrets: Secrets;
  readonly issuer: string;
  readonly clock: Clock;
};

/** The name of a log: the issuer without its scheme, which must hold neither spaces nor a plus (C2SP signed-note). */
export function originOf(issuer: string, epoch: number): string {
  const { host, pathname } = new URL(issuer);
  const place = `${host}${pathname.replace(/\/+$/, "")}`.replaceAll("+", "%2B");
  return epoch === 1 ? `${place}/log` : `${place}/log/${epoch}`;
}

/** The text by which others know an epoch's key (C2SP signed-note, verifier keys). */
export function verifierKeyOf({ origin, publicKey }: Pick<LogEpoch, "origin" | "publicKey">) {
  return formatVerifierKey(origin, publicKey);
}

/**
 * The keys by which checkpoints of our own are opened.
 * @returns none of an epoch whose name or key can be none, as one that was tampered with: it has signed nothing
 */
export async function openingKeysOf(epochs: readonly LogEpoch[]): Promise<VerifierKey[]> {
  const keys = await Promise.all(epochs.map(async (one) => readVerifierKey(await verifierKeyOf(one))));
  return keys.filter((key) => key !== null);
}

/** @throws TvsError REFUSED for an epoch that is closed, MASTER_KEY_WRONG */
export function checkpointKeyOf(epoch: LogEpoch, secrets: Pick<Secrets, "open">): CheckpointKey {
  const privateKey = privateKeyOf(epoch, secrets);
  return { publicKey: epoch.publicKey, sign: (message) => new Uint8Array(sign(null, message, privateKey)) };
}

/**
 * By how much a clock may have been ahead for its time to be kept to. No proof by a checkpoint of a time to come is accepted,
 * so after one of years to come a log that is backdated, as the audit says, is better than one that proves nothing.
 */
const longestAheadSeconds = 86_400;

/**
 * The time of an epoch's next checkpoint: a log's never go back, as a clock may that is set, because by an earlier one the
 * log would seem to be backdated.
 * @param newest its newest checkpoint, by which and by no column it is judged: who writes to the database must not have
 *   anything signed for a time to come
 */
export async function nextSeconds(epoch: LogEpoch, newest: string, clock: Clock): Promise<number> {
  const now = Math.floor(clock.now() / 1000);
  const last = await openCheckpoint(newest, await openingKeysOf([epoch]));
  if (last instanceof Refusal || last.seconds - now > longestAheadSeconds) return now;
  return Math.max(now, last.seconds);
}

/** Whether the private key of an epoch is that of its public key; null when it has none. */
export function hasOwnKey(epoch: LogEpoch, secrets: Pick<Secrets, "open">): boolean | null {
  if (epoch.sealed === null) return null;
  try {
    const { x } = createPublicKey(privateKeyOf(epoch, secrets)).export({ format: "jwk" });
    return x === Buffer.from(epoch.publicKey).toString("base64url");
  } catch {
    // It was sealed under another name or another master key, or it is not what was sealed.
    return false;
  }
}

function privateKeyOf({ sealed, origin }: LogEpoch, secrets: Pick<Secrets, "open">): KeyObject {
  if (sealed === null) throw new TvsError("REFUSED", `the log ${origin} is closed`);
  const key = Buffer.from(secrets.open(sealed, origin));
  const privateKey = createPrivateKey({ key, format: "der", type: "pkcs8" });
  key.fill(0);
  return privateKey;
}

/**
 * Opens the first epoch where there is none; one that has no leaf yet takes the issuer's name, should that have changed.
 * @returns the newest epoch
 */
export async function ensureLog({ store, secrets, issuer, clock }: LogOpening): Promise<LogEpoch> {
  const epoch = (await store.epochs()).at(-1);
  if (epoch === undefined) {
    const first = { ...newEpoch({ secrets, issuer, clock }, 1), reason: null, previous: null };
    await store.open({ ...first, after: { epoch: 0, signedSize: 0 } }, []);
    return newestOf(store);
  }
  const origin = originOf(issuer, epoch.epoch);
  // A later one has a leaf from its beginning, and no key is ever sealed anew under a later name.
  if (epoch.epoch > 1 || epoch.size > 0 || epoch.origin === origin || epoch.sealed === null) return epoch;
  const sealed = secrets.seal(secrets.open(epoch.sealed, epoch.origin), origin);
  await store.rename(epoch.epoch, { origin, sealed });
  return newestOf(store);
}

/**
 * Opens a further epoch. The key of the one before is destroyed by the same act, so nothing is ever added to that one.
 * @param epoch its number
 * @param link the last checkpoint that is known of the log before, as a signed note, or an empty text when none is; why
 *   there is a new epoch; and what was found to go before it
 * @returns whether it was opened: not when another one was, or a checkpoint signed, since `after` was read
 */
export function openEpoch(
  { store, secrets, issuer, clock }: LogOpening,
  epoch: number,
  link: Pick<EpochOpening, "reason" | "after" | "noted"> & { previous: string },
): Promise<boolean> {
  const opening = appendTo(0, [], [openingLeafHash(link.previous)]);
  return store.open({ ...newEpoch({ secrets, issuer, clock }, epoch), ...link }, opening);
}

function newEpoch({ secrets, issuer, clock }: Omit<LogOpening, "store">, number: number) {
  const origin = originOf(issuer, number);
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const pkcs8 = privateKey.export({ type: "pkcs8", format: "der" });
  const sealed = secrets.seal(pkcs8, origin);
  pkcs8.fill(0);
  const { x = "" } = publicKey.export({ format: "jwk" });
  const raw = new Uint8Array(Buffer.from(x, "base64url"));
  return { epoch: number, origin, publicKey: raw, sealed, openedAt: clock.now() };
}

async function newestOf(store: EvidenceStore): Promise<LogEpoch> {
  const epoch = (await store.epochs()).at(-1);
  if (epoch === undefined) throw new TvsError("INTERNAL", "the evidence log was not opened");
  return epoch;
}
