import type { Attestation } from "../attestations.ts";
import type { Call } from "../calls.ts";
import type { Delivery } from "../deliveries.ts";
import type { ForgeryTrial } from "./state.ts";

/** What a sandbox has seen of a partner's program. */
export type PartnerActivity = {
  readonly partnerId: string;
  /** The latest calls of everybody: the key documents ask for no credential. */
  readonly calls: readonly Pick<Call, "partnerId" | "method" | "route" | "status" | "replayed">[];
  readonly attestations: readonly Pick<Attestation, "eligible" | "endpoint">[];
  readonly deliveries: readonly Pick<Delivery, "state">[];
  /** How its receiver answered forged deliveries when that was last tried. */
  readonly forgeryTrial: Pick<ForgeryTrial, "refusedAll"> | null;
};

const api = "/v1/inter-agency";

/** What a program has shown before it goes live, each by the evidence that a sandbox has of it (decision D14.3). */
const signs = {
  agreed: (activity) => hasDone(activity, ["GET", "/me"]),
  asked: ({ attestations }) => attestations.some(({ endpoint }) => endpoint === "eligibility-check"),
  notEligible: ({ attestations }) => attestations.some(({ eligible }) => !eligible),
  batch: ({ attestations }) => attestations.some(({ endpoint }) => endpoint === "batch"),
  retried: ({ calls, partnerId }) => calls.some((call) => call.replayed && call.partnerId === partnerId),
  keySet: (activity) => wasFetched(activity, "jwks.json"),
  keyHistory: (activity) => wasFetched(activity, "key-history"),
  watched: (activity) =>
    hasDone(activity, ["PUT", "/watch/{regNo}"]) || hasDone(activity, ["POST", "/watch"]),
  fetched: (activity) => hasDone(activity, ["GET", "/events"]),
  acknowledged: ({ deliveries }) => deliveries.some(({ state }) => state === "delivered"),
  refusedForgery: ({ forgeryTrial }) => forgeryTrial?.refusedAll === true,
  rotated: (activity) =>
    hasDone(activity, ["POST", "/me/keys"]) && hasDone(activity, ["DELETE", "/me/keys/{keyId}"]),
} as const satisfies Record<string, (activity: PartnerActivity) => boolean>;

export type GoingLiveStep = keyof typeof signs;

/** Which steps a sandbox can tick off, in the order in which they are met. */
export type GoingLive = Readonly<Record<GoingLiveStep, boolean>>;

/** What the pages of a sandbox do for who tries it. */
export type TryOut = {
  readonly readGoingLive: () => Promise<GoingLive>;
  /** Whether the key that the pages show still opens anything: its reader may have deleted it. */
  readonly keyLives: () => boolean;
  /** Revokes the licence of the teacher who is there to be changed. @throws TvsError STORE_BUSY */
  readonly causeEvent: () => Promise<{ readonly eventId: string; readonly eventType: string }>;
};

export function goingLive(activity: PartnerActivity): GoingLive {
  const judged = Object.entries(signs).map(([step, isShown]) => [step, isShown(activity)]);
  return Object.fromEntries(judged) as GoingLive;
}

/** Any 2xx, or 304 for a copy that was still good. */
function wasFetched({ calls }: PartnerActivity, document: string): boolean {
  const route = `${api}/.well-known/${document}`;
  return calls.some((call) => call.route === route && (call.status < 300 || call.status === 304));
}

function hasDone({ calls, partnerId }: PartnerActivity, [method, path]: readonly [string, string]): boolean {
  return calls.some(
    (call) =>
      call.partnerId === partnerId &&
      call.method === method &&
      call.route === `${api}${path}` &&
      call.status < 300,
  );
}
