/** What the client sends and gets. A test holds these types to the OpenAPI document. */

import type { Certificate, EventType, Purpose, WebhookEvent } from "./contract.ts";

/** One question: may this teacher be relied on for this purpose? Unknown members are ignored. */
export type EligibilityCheckRequest = {
  identifier: Identifier;
  purpose: Purpose;
  context?: RequestContext;
};

/** Public answer. `found` says which of the two it is. */
export type PublicLookup = PublicLookupFound | PublicLookupNotFound;

/** Whether database and signer answer. */
export type Health = {
  /** `unavailable` comes with status 503. */
  status: "ok" | "unavailable";
  /** Name of the service. */
  service: string;
  /** The service's issuer URL. */
  issuer: string;
  /** Key id of the key that signs now. */
  activeKid: string;
};

/** A whole list, and the one purpose that all are judged for. Unknown members are ignored. */
export type RosterRequest = {
  purpose: Purpose;
  list: RosterList;
  /** Who is on the list. Somebody may stand on it twice; they are counted once. */
  teachers: ListedTeacher[];
};

/** What the statement calls the list; both are signed. */
export type RosterList = {
  /** What the list is called, such as the school's name. In one line, and nobody's number. */
  name: string;
  /** Your own reference for it, such as a centre's number. */
  reference?: string;
};

/** Names a teacher by exactly one of `regNo`, `tId` and `nin`. */
export type ListedTeacher = Identifier & {
  /** The name on the list, to be compared with the registered one, which is not told. It is not kept. */
  name?: string;
};

/** Names a teacher by exactly one of its members. */
export type Identifier =
  | {
      regNo: RegNo;
      tId?: never;
      nin?: never;
    }
  | {
      regNo?: never;
      tId: TId;
      nin?: never;
    }
  | {
      regNo?: never;
      tId?: never;
      nin: Nin;
    };

/** Kept with the attestation, so that the partner and the operator can find the call again. It has no influence on the verdict. Do not put personal data here; what looks like a number or an address of a person is left out. */
export type RequestContext = {
  /** The examination or batch that the check belongs to. */
  examBatch?: string;
  /** The employer on whose behalf the partner asks. */
  employerName?: string;
  /** The partner's own reference for this call. */
  correlationId?: string;
};

/** Public answer when a teacher matched. */
export type PublicLookupFound = {
  /** A teacher matched. */
  found: true;
  /** Full name as registered. */
  name: string;
  /** Teacher id, as text. */
  tId: string | null;
  status: SummaryStatus;
  /** State of registration. */
  state: string | null;
  teacher: PublicTeacher;
  certificate: Certificate;
  license: PublicLicense;
  /** Server time of the lookup. Keep it with a cached answer. */
  verifiedAt: string;
};

/** Public answer when no teacher matched. */
export type PublicLookupNotFound = {
  /** Nobody matched. */
  found: false;
  /** Server time of the lookup. */
  verifiedAt: string;
};

/** Registration number: four segments separated by `/`. White space and the case of letters make no difference; answers carry it in upper case without spaces. */
export type RegNo = string;

/** Numeric teacher id. */
export type TId = number;

/** National identification number: exactly 11 digits. It travels in a body only, never in a URL. */
export type Nin = string;

/** A summary of the license in a word or two, for people. */
export type SummaryStatus = "Licensed" | "Expired" | "Not licensed";

/** The teacher that matched. */
export type PublicTeacher = {
  /** Full name as registered. */
  name: string;
  /** Teacher id: text here, a number in the partner API. */
  tId: string | null;
  /** State of registration. */
  state: string | null;
  /** Category of registration. */
  category: string | null;
  /** Address of a photo. Not reliable for confirming an identity; absent when there is none. */
  photoUrl?: string;
};

/** A license as the public sees it: a revoked one, or that of a deactivated teacher, is `NOT_FOUND` with nulls. */
export type PublicLicense = {
  /** The public is told of these three states. */
  status: "VALID" | "EXPIRED" | "NOT_FOUND";
  /** First day of the license. */
  issueDate: string | null;
  /** Last day of the license. */
  expiryDate: string | null;
  /** Calendar days to the expiry day, 0 on that day and after it; null unless the status is `VALID` or `EXPIRED`. */
  daysRemaining: number | null;
};

/** What the service knows of you, and what you may do. */
export type Me = {
  /** Who you are here: the claim `aud` of what is signed for you. */
  partnerId: string;
  /** Your name, as the operator has it. */
  name: string;
  /** Which calls you may make. */
  scopes: string[];
  /** What you may ask for. */
  purposes: Purpose[];
  quota: { perMinute: number; perDay: number; usedToday: number; dayEndsAt: string };
  /** The one that you have asked with. */
  credential: OwnCredential;
  /** All that open the service in your name now. */
  credentials: OwnCredential[];
  told: Told;
  /** Where deliveries go; null where you only fetch. */
  webhook: { url: string; state: "enabled" | "disabled" } | null;
  /** Whether you may change keys, webhook and what you are told of by yourself. The operator grants it. */
  selfService: boolean;
};

/** An API key by its `keyId`, or a client certificate by its `fingerprint`. */
export type OwnCredential = { createdAt: string; expiresAt: string | null } & (
  | { keyId: string; fingerprint?: never }
  | { fingerprint: string; keyId?: never }
);

/** What you are told of: one filter, for the webhook and for the events that you fetch. */
export type Told = { events: "all" | EventType[]; teachers: "all" | "verified" | "watched" };

/** An event, and in `set` the proof that you were told it. */
export type FetchedEvent = WebhookEvent & { set: string };

/** A page of events, in the order in which they were committed. */
export type Events = Page<FetchedEvent>;

/** A page of the watch list: registration numbers, as they are written canonically. */
export type Watched = Page<RegNo>;

/** What is so after a change of the watch list. */
export type WatchCount = {
  /** How many you watch now. */
  watched: number;
};

/** What is there; `iterator` is the `after` by which to go on from there, and `done` says that there was no more. */
type Page<T> = { data: T[]; iterator: string | null; done: boolean };
