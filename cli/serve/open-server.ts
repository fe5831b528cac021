/** What each serving thread opens for itself over the database, and the memory that all of them share. */

import { newAddressCounts } from "../../src/domain/address-limit.ts";
import type { CallObserver } from "../../src/domain/calls.ts";
import type { Check } from "../../src/domain/checks.ts";
import { type Clock, isoTime } from "../../src/domain/clock.ts";
import { createConfiguration } from "../../src/domain/configuration.ts";
import { type ClockWatch, createClockWatch } from "../../src/domain/database-clock.ts";
import { inTime } from "../../src/domain/deadline.ts";
import { isTvsError, TvsError } from "../../src/domain/errors.ts";
import { createEvidenceReader } from "../../src/domain/evidence/log.ts";
import { createIdempotency } from "../../src/domain/idempotency.ts";
import { createQuota } from "../../src/domain/quota.ts";
import { createSelfService } from "../../src/domain/self-service.ts";
import { repeat } from "../../src/domain/serial.ts";
import { unreadableCertificateName } from "../../src/domain/settings.ts";
import { createStatusLists, createStatusPlaces } from "../../src/domain/status-list/lists.ts";
import { createPublicLookup } from "../../src/domain/teachers/public-lookup.ts";
import { createVerification } from "../../src/domain/verification.ts";
import { createWarning } from "../../src/http/warning.ts";
import { log } from "../../src/logger.ts";
import { createRequestCounters, newRequestCounts, type RequestCounters } from "../../src/metrics/requests.ts";
import {
  countedAttestations,
  countedPublicLookup,
  countedSigner,
  newWorkCounts,
  type WorkCounters,
  watchLag,
} from "../../src/metrics/work.ts";
import { routes } from "../../src/routes.ts";
import type { Service } from "../../src/service.ts";
import { newSigningBoards } from "../../src/signing/board.ts";
import { type ChosenSigner, openSigner, type SignerOptions } from "../../src/signing/signer.ts";
import { newCommitLock } from "../../src/store/driver/commit-lock.ts";
import { createEvidenceDisk, newEvidenceDisk } from "../../src/store/evidence/disk.ts";
import { readDatabaseClock } from "../../src/store/leader.ts";
import type { SettingsStore } from "../../src/store/settings.ts";
import type { TeacherStore } from "../../src/store/teachers.ts";
import type { Operator } from "../open.ts";

/** What is one for the process: each part belongs to the file that makes it, and is handed to every thread. */
export type ProcessMemory = {
  readonly threads: number;
  readonly requests: SharedArrayBuffer;
  readonly work: SharedArrayBuffer;
  readonly addresses: SharedArrayBuffer;
  readonly disk: SharedArrayBuffer;
  readonly commitLock: SharedArrayBuffer;
  readonly signingBoards: SharedArrayBuffer;
};

export function newProcessMemory(threads: number): ProcessMemory {
  return {
    threads,
    requests: newRequestCounts(routes, threads),
    work: newWorkCounts(threads),
    addresses: newAddressCounts(),
    disk: newEvidenceDisk(),
    commitLock: newCommitLock(threads),
    signingBoards: newSigningBoards(threads),
  };
}

/** What a server works on: a thread's own connection to the database, and what the database was opened with. */
type ServerBasis = Pick<
  Operator,
  "driver" | "stores" | "secrets" | "blindIndex" | "settingsInForce" | "keyKind" | "clock"
>;

type ServerOptions = {
  readonly signing: Pick<SignerOptions, "engine" | "cryptoMbFile">;
  readonly memory: ProcessMemory;
  /** Which thread this is; the main one is 0. */
  readonly thread: number;
  /** The counters of this thread; made before the database is opened, because commits are counted too. */
  readonly work: WorkCounters;
  /** Told of each call that was answered, besides the counters. */
  readonly onCall: CallObserver;
  /** Told, once, that this process may not use the database any more. */
  readonly onLost?: ((error: TvsError) => void) | undefined;
};

/** The answering part of a service, in one thread. */
export type OpenServer = {
  readonly service: Service;
  readonly requests: RequestCounters;
  readonly signer: ChosenSigner;
  /** This machine's clock beside the database's. */
  readonly clockWatch: ClockWatch;
  isDiskRefusing(): boolean;
  /** Stops looking for changes, and signing. */
  close(): Promise<void>;
};

/** How often a running service looks whether a command has changed something; on a server each look is a request. */
const refreshMs = { embedded: 200, remote: 500 } as const;
/** A probe of the signer costs a signature; health answers from the last one for this long. */
const probeMs = 500;
/** Together they are less than the two seconds in which a load balancer hears that this node cannot answer. */
const probeDeadlineMs = 1_300;

/** Opens what answers in one thread, and keeps it fresh. */
export async function openServer(basis: ServerBasis, options: ServerOptions): Promise<OpenServer> {
  const { signing, memory, thread, work, onCall, onLost } = options;
  const shared = { boards: memory.signingBoards, thread };
  const signer = await openSigner({ secrets: basis.secrets, ...signing, shared });
  try {
    const disk = createEvidenceDisk(basis.driver, memory.disk);
    const requests = createRequestCounters(routes, { memory: memory.requests, thread });
    const observe: CallObserver = (call) => {
      requests.observe(call.route, call.method, call.status, call.ms);
      onCall(call);
    };
    const clockWatch = createClockWatch(
      () => readDatabaseClock(basis.driver),
      basis.clock,
      // Each thread looks by itself, and all would say the same.
      thread === 0 ? logClock : undefined,
    );
    const service = await createService(basis, { signer, disk, work, observe, clockWatch });
    const everyMs = refreshMs[basis.driver.kind];
    const stops = [keepFresh(service, { everyMs, clockWatch, onLost }), watchLag(work)];
    return {
      service,
      requests,
      signer,
      clockWatch,
      isDiskRefusing: disk.isRefusing,
      async close() {
        await Promise.all(stops.map((stop) => stop()));
        await signer.close();
      },
    };
  } catch (error) {
    await signer.close();
    throw error;
  }
}

type ServiceParts = {
  readonly signer: ChosenSigner;
  readonly disk: ReturnType<typeof createEvidenceDisk>;
  readonly work: WorkCounters;
  readonly observe: CallObserver;
  readonly clockWatch: ClockWatch;
};

async function createService(basis: ServerBasis, parts: ServiceParts): Promise<Service> {
  const { stores, settingsInForce: defaults, blindIndex, secrets, keyKind, clock } = basis;
  const { settings, partners, keys, teachers, quotaStore } = stores;
  const { signer, disk, work, observe, clockWatch } = parts;
  const configuration = await createConfiguration({
    settings,
    partners,
    keys,
    secrets,
    clock,
    defaults,
    onKeys: (ring) => signer.load(ring),
  });
  const shared = { configuration, teachers, blindIndex, clock };
  const places = createStatusPlaces(secrets.statusListKey);
  const sign = () => signer.sign(configuration.current().keys.active.kid, ["probe"]);
  return {
    configuration,
    verification: createVerification({
      ...shared,
      places,
      attestations: countedAttestations(disk.watch(stores.attestations), work),
      idempotency: createIdempotency(stores.idempotencyStore, secrets, clock),
      signer: countedSigner(signer, work),
    }),
    publicLookup: countedPublicLookup(
      createPublicLookup({ ...shared, mayBeReplaced: basis.driver.kind === "remote" }),
      work,
    ),
    evidence: createEvidenceReader(stores.evidence),
    statusLists: createStatusLists({ configuration, store: stores.statusLists, places, secrets, clock }),
    self: createSelfService({
      ...{ webhooks: stores.webhooks, told: stores.told, watches: stores.watches, clock },
    }),
    quota: createQuota({ clock, store: quotaStore, stored: await quotaStore.windows() }),
    secrets,
    keyKind,
    clock,
    isClockWrong: clockWatch.isWrong,
    probe: createProbe(clock, () =>
      Promise.all([
        disk.probe(),
        configuration.refresh(),
        sign(),
        requireClock(clockWatch),
        requireLoaded(stores.teachers),
      ]),
    ),
    onUnreadableCertificate: noteUnreadableCertificates(settings, clock),
    onCall: observe,
  };
}

/** Logs that a proxy's `Client-Cert` cannot be read, and leaves `tvs doctor` the time; nothing of the header. */
function noteUnreadableCertificates(settings: SettingsStore, clock: Clock): (proxy: string) => void {
  const warn = createWarning(
    "a proxy of --client-cert-from sent a Client-Cert header in another form than RFC 9440's, " +
      "so its calls count as calls without a certificate; see tvs help proxy",
  );
  return (proxy) => {
    if (!warn({ proxy })) return;
    // A database that takes no writes has its own line in the log.
    settings.write({ [unreadableCertificateName]: isoTime(clock.now()) }).catch(() => undefined);
  };
}

function logClock({ result, found, advice }: Check): void {
  const write = { ok: log.info, warn: log.warn, fail: log.error }[result];
  write(found, advice === null ? {} : { advice });
}

function createProbe(clock: Clock, use: () => Promise<unknown>): () => Promise<void> {
  let last: { at: number; outcome: Promise<void> } | undefined;
  const late = () => new TvsError("STORE_UNAVAILABLE", "the database does not answer in time");
  const ask = async () => {
    await inTime(use(), { ms: probeDeadlineMs, late });
  };
  return () => {
    const now = clock.now();
    if (last === undefined || Math.abs(now - last.at) > probeMs) last = { at: now, outcome: ask() };
    return last.outcome;
  };
}

async function requireLoaded(teachers: Pick<TeacherStore, "isLoaded">): Promise<void> {
  if (!(await teachers.isLoaded())) throw new TvsError("REGISTER_EMPTY", "the register is empty");
}

async function requireClock({ isWrong }: ClockWatch): Promise<void> {
  if (isWrong()) throw new TvsError("CLOCK_WRONG", "this machine's clock is too far from the database's");
}

/** Re-reads what commands have changed, and the database's clock, in one request to a server. @returns ends it */
function keepFresh(
  { configuration }: Service,
  {
    everyMs,
    clockWatch,
    onLost,
  }: { everyMs: number; clockWatch: ClockWatch } & Pick<ServerOptions, "onLost">,
): () => Promise<void> {
  let failure = "";
  async function refresh(): Promise<void> {
    await Promise.all([configuration.refresh(), clockWatch.look()]);
    failure = "";
  }
  // A failure shows itself in the health probe and in the calls too; the next turn tries again.
  function logFailure(error: unknown): void {
    if (String(error) !== failure) log.error("changes cannot be read", { detail: String(error) });
    failure = String(error);
    if (isTvsError(error, "DATABASE_TOO_NEW") || isTvsError(error, "REFUSED")) onLost?.(error);
  }
  return repeat(refresh, { everyMs, onError: logFailure });
}
