import type { CallObserver } from "./domain/calls.ts";
import type { Clock } from "./domain/clock.ts";
import type { Configuration } from "./domain/configuration.ts";
import type { ApiKeyKind } from "./domain/credentials.ts";
import type { EvidenceReader } from "./domain/evidence/log.ts";
import type { QuotaCounter } from "./domain/quota.ts";
import type { Secrets } from "./domain/secrets.ts";
import type { SelfService } from "./domain/self-service.ts";
import type { StatusListSource } from "./domain/status-list/lists.ts";
import type { PublicLookup } from "./domain/teachers/public-lookup.ts";
import type { CallAnswerer } from "./domain/verification.ts";
import type { DemoPartner } from "./http/local-caller.ts";

/** The parts of the service that the HTTP layer calls. cli/serve/open-service.ts connects these parts. */
export type Service = {
  readonly configuration: Configuration;
  readonly verification: CallAnswerer;
  readonly publicLookup: PublicLookup;
  readonly evidence: EvidenceReader;
  readonly statusLists: StatusListSource;
  readonly self: SelfService;
  readonly quota: QuotaCounter;
  readonly secrets: Secrets;
  readonly keyKind: ApiKeyKind;
  readonly clock: Clock;
  /** Returns true if the clock is so wrong that partners' calls are refused (decision D12.4). */
  readonly isClockWrong: () => boolean;
  /** Checks that the database and the signer work. @throws the error of the database or of the signer */
  readonly probe: () => Promise<void>;
  /** Called if a trusted proxy sent a malformed `Client-Cert`; the call is treated as one without a certificate. */
  readonly onUnreadableCertificate?: (proxy: string) => void;
  /** Called with each answered call. */
  readonly onCall?: CallObserver;
};

export type AppOptions = {
  readonly publicPerMinute: number;
  readonly trustedProxies: readonly string[];
  /** IP addresses and CIDR blocks of proxies whose `Client-Cert` is trusted; by default none. */
  readonly clientCertFrom?: readonly string[];
  /** A sandbox's demo partner. The sandbox's pages show the partner's API key to requests from this machine. */
  readonly demo?: DemoPartner | undefined;
  /** Causes an event. The button of a sandbox's getting-started page calls this function. */
  readonly causeEvent?: (() => Promise<{ readonly eventId: string; readonly eventType: string }>) | undefined;
};
