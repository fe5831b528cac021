/** What the client sends and gets: made of data/openapi.yaml. */

import type { Certificate, CertificateStatus, EventType, LicenseStatus, Purpose } from "./contract.ts";

/** One question: may this teacher be relied on for this purpose? Unknown members are ignored. */
export type EligibilityCheckRequest = {
  identifier: Identifier;
  purpose: Purpose;
  context?: RequestContext;
};

/** A page of events. */
export type Events = {
  /** In the order in which they were committed. */
  data: FetchedEvent[];
  iterator: Iterator;
  /** Whether there were no more. Ask again later, with `iterator`. */
  done: boolean;
};

/** An event, and the proof that you were told it. */
export type FetchedEvent = {
  /** The same as its delivery's: use it to ignore what you know already. */
  eventId: string;
  eventType: EventType;
  /** When the status changed. */
  occurredAt: string;
  data: EventData;
  /** The event as a compact RS256 JWS, `typ` `secevent+jwt` (RFC 8417), with the claims `iss`, `aud` (you), `iat` (when the event was committed), `jti` (its id), `sub_id` (`{"format": "opaque", "id": regNo}`) and `events`, whose one member, `urn:tvs:event:` and the type, is `data`. It has no `exp`. */
  set: string;
};

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

/** Names a teacher by exactly one of its members. */
export type Identifier = {
  regNo: RegNo;
  tId?: never;
  nin?: never;
} | {
  regNo?: never;
  tId: TId;
  nin?: never;
} | {
  regNo?: never;
  tId?: never;
  nin: Nin;
};

/** Names a teacher by exactly one of `regNo`, `tId` and `nin`. */
export type ListedTeacher = {
  regNo: RegNo;
  tId?: never;
  nin?: never;
  /** The name on the list, to be compared with the registered one, which is not told. It is not kept. */
  name?: string;
} | {
  regNo?: never;
  tId: TId;
  nin?: never;
  /** The name on the list, to be compared with the registered one, which is not told. It is not kept. */
  name?: string;
} | {
  regNo?: never;
  tId?: never;
  nin: Nin;
  /** The name on the list, to be compared with the registered one, which is not told. It is not kept. */
  name?: string;
};

/** What was agreed with you, and what you have here. */
export type Me = {
  /** Who you are here: the claim `aud` of all that is signed for you. */
  partnerId: string;
  /** Your name, as the operator has it. */
  name: string;
  /** Which calls you may make. */
  scopes: string[];
  /** What you may ask for. */
  purposes: Purpose[];
  /** How much you may ask. */
  quota: {
    /** Calls a minute. */
    perMinute: number;
    /** Calls a day (UTC). */
    perDay: number;
    /** How many of this day's are spent. */
    usedToday: number;
    /** When the next day begins. */
    dayEndsAt: string;
  };
  /** The one that you have asked with. */
  credential: OwnCredential;
  /** All that open the service in your name now. */
  credentials: OwnCredential[];
  told: Told;
  /** Where deliveries go; null where you only fetch events. */
  webhook: Webhook | null;
  /** Whether you change keys, webhook and what you are told of by yourself. The operator grants it. */
  selfService: boolean;
};

/** An API key, by its `keyId`, or a client certificate, by its `fingerprint`. */
export type OwnCredential = {
  /** Names an API key; it is no secret. */
  keyId: string;
  fingerprint?: never;
  /** Since when the service knows it. */
  createdAt: string;
  /** When it ends by itself; null where nothing ends it. */
  expiresAt: string | null;
} | {
  keyId?: never;
  /** SHA-256 fingerprint of a client certificate. */
  fingerprint: string;
  /** Since when the service knows it. */
  createdAt: string;
  /** When it ends by itself; null where nothing ends it. */
  expiresAt: string | null;
};

/** Public answer. `found` says which of the two it is. */
export type PublicLookup = PublicLookupFound | PublicLookupNotFound;

/** Kept with the attestation, so that the partner and the operator can find the call again. It has no influence on the verdict. Do not put personal data here; what looks like a number or an address of a person is left out. */
export type RequestContext = {
  /** The examination or batch that the check belongs to. */
  examBatch?: string;
  /** The employer on whose behalf the partner asks. */
  employerName?: string;
  /** The partner's own reference for this call. */
  correlationId?: string;
};

/** A whole list, and the one purpose that all are judged for. Unknown members are ignored. */
export type RosterRequest = {
  purpose: Purpose;
  list: RosterList;
  /** Who is on the list. Somebody may stand on it twice; they are counted once. */
  teachers: ListedTeacher[];
};

/** What you are told of: one filter, for the webhook and for `/events`. It is `all` and `all` at first. */
export type Told = {
  events: EventChoice;
  teachers: TeacherChoice;
};

/** What is so after the change. */
export type WatchCount = {
  /** How many you watch now. */
  watched: number;
};

/** A page of the watch list. */
export type Watched = {
  /** In their canonical form. */
  data: RegNo[];
  iterator: Iterator;
  /** Whether this is the last page. */
  done: boolean;
};

/** Where this page ends. Give it as `after` to go on from there. It is yours alone, and this list's alone; null where there is no place yet to go on from. */
export type Iterator = string | null;

/** Public identifiers and status words only, as a delivery has them. */
export type EventData = {
  /** Numeric teacher id. */
  tId: number | null;
  /** Canonical registration number. */
  regNo: string | null;
  licenseStatus: LicenseStatus;
  certificateStatus: CertificateStatus;
  /** The status before, of the license or of the certificate, whichever the event is about. */
  previousStatus: "VALID" | "EXPIRED" | "NOT_FOUND" | "REVOKED" | "VERIFIED" | "CLAIMED" | "LEGACY_RECORD";
};

/** Registration number: four segments separated by `/`. White space and the case of letters make no difference; answers carry it in upper case without spaces. */
export type RegNo = string;

/** Numeric teacher id. */
export type TId = number;

/** National identification number: exactly 11 digits. It travels in a body only, never in a URL. */
export type Nin = string;

/** Your webhook. */
export type Webhook = {
  /** Where deliveries go. */
  url: string;
  /** `disabled` after a 410, after five days of failures, or by the operator: deliveries wait. */
  state: "enabled" | "disabled";
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

/** What the statement calls the list; both are signed. */
export type RosterList = {
  /** What the list is called, such as the school's name. In one line, and nobody's number. */
  name: string;
  /** Your own reference for it, such as a centre's number. */
  reference?: string;
};

/** The word `all`, or some types of events. */
export type EventChoice = "all" | EventType[];

/** About whom you are told. */
export type TeacherChoice = "all" | "verified" | "watched";

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
