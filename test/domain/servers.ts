import { checkBatch, checkEligibility, forPartners } from "../../src/api/partner-api.ts";
import { createBlindIndex } from "../../src/domain/blind-index.ts";
import { type Configuration, createConfiguration } from "../../src/domain/configuration.ts";
import type { Signer } from "../../src/domain/envelopes.ts";
import { createEvidenceReader } from "../../src/domain/evidence/evidence.ts";
import { createIdempotency } from "../../src/domain/idempotency.ts";
import { createQuota } from "../../src/domain/quota.ts";
import { createSelfService } from "../../src/domain/self-service.ts";
import { createVerification } from "../../src/domain/verification.ts";
import type { HttpCall } from "../../src/http/http-call.ts";
import type { Service } from "../../src/service.ts";
import { createCommits } from "../../src/store/driver/commits.ts";
import type { Driver } from "../../src/store/driver/driver.ts";
import { atRevision } from "../../src/store/driver/fenced.ts";
import { createAttestationStore } from "../../src/store/evidence/attestations.ts";
import { createEvidenceStore } from "../../src/store/evidence/evidence.ts";
import { createIdempotencyStore } from "../../src/store/idempotency.ts";
import { createKeyStore } from "../../src/store/keys.ts";
import { createPartnerStore } from "../../src/store/partners.ts";
import { createQuotaStore } from "../../src/store/quota.ts";
import { createSettingsStore } from "../../src/store/settings.ts";
import { createTeacherStore } from "../../src/store/teachers.ts";
import { createToldStore } from "../../src/store/told.ts";
import { createWatchStore } from "../../src/store/watches.ts";
import { createWebhookStore } from "../../src/store/webhooks.ts";
import type { TestClock } from "../harness/clock.ts";
import { aSettings, places, secrets } from "../harness/samples.ts";
import type { Gate } from "./gate.ts";

export const blindIndex = createBlindIndex(secrets.blindIndexKey);

/** Signs at once: nothing but the gate decides the order. */
const signer: Signer = { sign: async (_kid, inputs) => inputs.map(() => "c2lnbmVk") };

/** As many in one commit: of two, none waits by the clock for more to come. */
const maxWeight = 2;

export type SentCall = {
  readonly requestId: string;
  readonly operation: "eligibility-check" | "batch";
  readonly apiKey: string;
  /** A second credential, which counts where the first one does not. */
  readonly headerKey?: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly body: unknown;
};

export type Reply = {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
  /** Whose call it was, as the trace tells. */
  readonly partnerId: string | null;
};

/** One of several servers over one database, with nothing in common but that. */
export type Server = { send(call: SentCall): Promise<Reply>; refresh(): void };

/** A server as `serve` composes it, on a connection of its own. */
export async function openServer(driver: Driver, clock: TestClock, gate: Gate): Promise<Server> {
  const [gated, gatedForLive] = [gate.around(driver), gate.around(driver)];
  const commit = createCommits(gated, { maxWeight });
  const quotaStore = createQuotaStore(gated, commit);
  const configuration = await openLive(driver, gatedForLive, { clock, gate });
  const service: Service = {
    configuration,
    verification: createVerification({
      configuration,
      teachers: createTeacherStore(gated),
      attestations: createAttestationStore(gated, commit),
      idempotency: createIdempotency(createIdempotencyStore(gated), secrets, clock),
      blindIndex,
      places,
      signer,
      clock,
    }),
    publicLookup: () => Promise.reject(new Error("not asked")),
    evidence: createEvidenceReader(createEvidenceStore(gated)),
    statusLists: { newest: () => Promise.reject(new Error("not asked")) },
    self: createSelfService({
      ...{ told: createToldStore(gated), webhooks: createWebhookStore(gated), clock },
      storesAt(revision) {
        const at = atRevision(gated, revision);
        return { watches: createWatchStore(at), deliveries: createWebhookStore(at) };
      },
    }),
    quota: createQuota({ clock, store: quotaStore, stored: [] }),
    secrets,
    keyKind: "live",
    clock,
    isClockWrong: () => false,
    isEnding: () => false,
    probe: async () => {},
  };
  const how = { service, forwardsCertificates: () => false };
  const handlers = {
    "eligibility-check": forPartners({ scope: "eligibility", handler: checkEligibility }, how),
    batch: forPartners({ scope: "batch", handler: checkBatch }, how),
  };
  return {
    async send(sent) {
      const call = httpCall(sent);
      return { ...(await handlers[sent.operation](call)), partnerId: call.trace.partnerId };
    },
    refresh: () => void configuration.refresh().catch(() => {}),
  };
}

/** The first snapshot is read past the gate; what is read later waits at it, and is not done while it signs. */
async function openLive(
  driver: Driver,
  gated: ReturnType<Gate["around"]>,
  { clock, gate }: { clock: TestClock; gate: Gate },
): Promise<Configuration> {
  let reads: Driver = driver;
  const switched: Driver = { ...driver, query: (sql, args) => reads.query(sql, args) };
  const configuration = await createConfiguration({
    settings: createSettingsStore(switched),
    partners: createPartnerStore(switched),
    keys: createKeyStore(switched),
    secrets,
    clock,
    defaults: aSettings,
  });
  reads = gated;
  let underWay = 0;
  gate.busy.add(() => underWay > 0 && gated.outstanding() === 0);
  return {
    ...configuration,
    refresh() {
      underWay++;
      return configuration.refresh().finally(() => underWay--);
    },
  };
}

function httpCall({ requestId, operation, apiKey, headerKey, idempotencyKey, body }: SentCall): HttpCall {
  const headers: Record<string, string | undefined> = {
    authorization: `Bearer ${apiKey}`,
    "x-agency-api-key": headerKey,
    "idempotency-key": idempotencyKey,
  };
  return {
    trace: {
      requestId,
      route: `/v1/inter-agency/${operation}`,
      method: "POST",
      status: 0,
      partnerId: null,
      keyId: null,
      ms: 0,
      error: null,
      replayed: false,
    },
    issuer: () => "",
    connection: { remoteAddress: "127.0.0.1", tls: false, clientCertificate: null },
    header: (name) => headers[name],
    query: () => undefined,
    pathPart: () => "",
    body: async () => new TextEncoder().encode(JSON.stringify(body)),
  };
}
