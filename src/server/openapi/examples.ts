/**
 * The examples of the OpenAPI document. They are real answers: the envelopes were signed with the key of the example
 * key set, so an engineer can try a verifier on them before having a credential. Tests sign them anew and compare, and
 * ask the real app for every one of them.
 */
import type { PublicAnswer } from "../../domain/public-lookup.ts";
import {
  type EligibilityResult,
  type EventType,
  notFoundResult,
  type SignedEnvelope,
  type WebhookEvent,
} from "../../partner/contract.ts";

export const issuer = "https://teachers.example";
export const audience = "exam-body-a";

/** The first of a sandbox's teachers, so that what is asked there is answered as it is shown here. */
export const regNo = "TR/2019/LA/000001";
export const tId = 1001;
export const nin = "99900000001";
export const context = { examBatch: "2026-MAY", correlationId: "a-17" };

export const eligibilityCheck = { identifier: { regNo }, purpose: "BODYA_INVIGILATOR_ELIGIBILITY", context };
export const batchCheck = {
  items: [
    { identifier: { tId }, purpose: "BODYA_INVIGILATOR_ELIGIBILITY" },
    { identifier: { tId: 999999 }, purpose: "BODYA_INVIGILATOR_ELIGIBILITY" },
  ],
};

export const teacher = { name: "Adaeze Okafor", tId, state: "Lagos", category: "A" };
export const license = {
  status: "VALID",
  issueDate: "2019-03-01",
  expiryDate: "2092-02-29",
  daysRemaining: 24_106,
} as const;
export const certificate = { status: "VERIFIED", regNo, issueDate: "2018-11-05" } as const;
export const qualification = {
  title: "B.Ed. Mathematics",
  institution: "University of Lagos",
  year: 2015,
};
const furtherQualification = {
  title: "Nigeria Certificate in Education",
  institution: "Federal College of Education, Akoka",
  year: 2011,
};
export const employment = {
  employer: "Government College, Ikorodu",
  role: "Mathematics teacher",
  from: "2019-09-01",
  to: null,
};
const formerEmployment = {
  employer: "Queen's College, Yaba",
  role: "Form teacher",
  from: "2016-01-11",
  to: "2019-07-31",
};
export const profile = {
  ninVerified: true,
  qualifications: [qualification, furtherQualification],
  employment: [employment, formerEmployment],
};

export const eligibleResult: EligibilityResult = {
  found: true,
  source: "new_system",
  status: "VALID",
  eligible: true,
  reasons: [],
  teacher,
  license,
  certificate,
  profile,
};

export const expiredResult: EligibilityResult = {
  ...eligibleResult,
  source: "legacy",
  status: "EXPIRED",
  eligible: false,
  reasons: ["LICENSE_EXPIRED", "CERTIFICATE_LEGACY_ONLY", "SOURCE_NOT_ACCEPTED"],
  license: { status: "EXPIRED", issueDate: "2022-01-10", expiryDate: "2025-01-09", daysRemaining: 0 },
  certificate: { status: "LEGACY_RECORD", regNo, issueDate: null },
  profile: null,
};

export const kid = "qEIggf3m1pZ49T7wVTWWw4YY__8XcNF7MOptYDfc--g";
export const jwks = {
  keys: [
    {
      kty: "RSA",
      use: "sig",
      alg: "RS256",
      kid,
      n: [
        "13qKeoQbjdobMDEqfJ995GRUy0YeOf-9jYD0NxHyDmiH8Syng-iYrV465l00dKAUZRFdf7u9g-wZctPufJ0VM-CHFAAimjUCl425",
        "XQdumjZmI-FyJUhZs86dcZP6ArvofbbNZoXb4JiCwrBDB0fBRWZP5E3utbyZB-C3qFAfG5oIneG3-OUgU5i0Zfb1rS4_tHQeTgDt",
        "FVgSZNw7KG8IW1lIo2RJI7aWfARYHrFFhSASTBEinZAP6MBRcIMYdwAjbiMdADp05byBl1u_OS2uEAvsvt9z-uRBb17oIlNZiZws",
        "zLt_Fb3iEGoOqaSoUSdhf4qWWTcfaOMI6xSIqvhdhQ",
      ].join(""),
      e: "AQAB",
    },
  ],
};

const verifiedAt = "2026-03-01T09:30:00Z";

export const foundEnvelope: SignedEnvelope = {
  verificationId: "019ca8bb-b5c0-7c3a-9f41-2d8f0c6e1b57",
  verifiedAt,
  issuer,
  audience,
  result: eligibleResult,
  signature: [
    "eyJhbGciOiJSUzI1NiIsImtpZCI6InFFSWdnZjNtMXBaNDlUN3dWVFdXdzRZWV9fOFhjTkY3TU9wdFlEZmMtLWciLCJ0eXAiOiJK",
    "V1QifQ.eyJpc3MiOiJodHRwczovL3RlYWNoZXJzLmV4YW1wbGUiLCJhdWQiOiJleGFtLWJvZHktYSIsInN1YiI6IjAxOWNhOGJiL",
    "WI1YzAtN2MzYS05ZjQxLTJkOGYwYzZlMWI1NyIsImlhdCI6MTc3MjM1NzQwMCwicmVzdWx0Ijp7ImZvdW5kIjp0cnVlLCJzb3VyY",
    "2UiOiJuZXdfc3lzdGVtIiwic3RhdHVzIjoiVkFMSUQiLCJlbGlnaWJsZSI6dHJ1ZSwicmVhc29ucyI6W10sInRlYWNoZXIiOnsib",
    "mFtZSI6IkFkYWV6ZSBPa2Fmb3IiLCJ0SWQiOjEwMDEsInN0YXRlIjoiTGFnb3MiLCJjYXRlZ29yeSI6IkEifSwibGljZW5zZSI6e",
    "yJzdGF0dXMiOiJWQUxJRCIsImlzc3VlRGF0ZSI6IjIwMTktMDMtMDEiLCJleHBpcnlEYXRlIjoiMjA5Mi0wMi0yOSIsImRheXNSZ",
    "W1haW5pbmciOjI0MTA2fSwiY2VydGlmaWNhdGUiOnsic3RhdHVzIjoiVkVSSUZJRUQiLCJyZWdObyI6IlRSLzIwMTkvTEEvMDAwM",
    "DAxIiwiaXNzdWVEYXRlIjoiMjAxOC0xMS0wNSJ9LCJwcm9maWxlIjp7Im5pblZlcmlmaWVkIjp0cnVlLCJxdWFsaWZpY2F0aW9uc",
    "yI6W3sidGl0bGUiOiJCLkVkLiBNYXRoZW1hdGljcyIsImluc3RpdHV0aW9uIjoiVW5pdmVyc2l0eSBvZiBMYWdvcyIsInllYXIiO",
    "jIwMTV9LHsidGl0bGUiOiJOaWdlcmlhIENlcnRpZmljYXRlIGluIEVkdWNhdGlvbiIsImluc3RpdHV0aW9uIjoiRmVkZXJhbCBDb",
    "2xsZWdlIG9mIEVkdWNhdGlvbiwgQWtva2EiLCJ5ZWFyIjoyMDExfV0sImVtcGxveW1lbnQiOlt7ImVtcGxveWVyIjoiR292ZXJub",
    "WVudCBDb2xsZWdlLCBJa29yb2R1Iiwicm9sZSI6Ik1hdGhlbWF0aWNzIHRlYWNoZXIiLCJmcm9tIjoiMjAxOS0wOS0wMSIsInRvI",
    "jpudWxsfSx7ImVtcGxveWVyIjoiUXVlZW4ncyBDb2xsZWdlLCBZYWJhIiwicm9sZSI6IkZvcm0gdGVhY2hlciIsImZyb20iOiIyM",
    "DE2LTAxLTExIiwidG8iOiIyMDE5LTA3LTMxIn1dfX19.BSOW2oYuHPEtMqTLymmvxqeOYjZr2jOZ6Ev3pER3rtwf1cMLyvluWOh_",
    "bUdbA_50wcMrzP-kE2Q2uYQC1-ekUn9RlXiPyLMi87Qy7ys2v6SfLtstGUK9NvGhhpfA5pU-k1Asfk_lY7gmVbN5tOyAeDyO1SQQ",
    "wmnYnTPFxytfWU1Tc2RWmVOqCJsOY9hzWgcbQ9CuY5EO0u8FC6cIFuTxC4W7fj807_7H3-D9J8nUlnw1m50KT6O6wRUiSoypOYyR",
    "ncU27baYshvV7tSxOqu2ONSr4HqP93SfKam9t7yOkSotRLw6z2zhrkVPVwitrb6mxUb4czq2QMUBwjnT9LzBVg",
  ].join(""),
  signatureKid: kid,
};

export const notFoundEnvelope: SignedEnvelope = {
  verificationId: "019ca8bb-b5c1-7e52-8a06-b1c4d7e9f230",
  verifiedAt,
  issuer,
  audience,
  result: notFoundResult,
  signature: [
    "eyJhbGciOiJSUzI1NiIsImtpZCI6InFFSWdnZjNtMXBaNDlUN3dWVFdXdzRZWV9fOFhjTkY3TU9wdFlEZmMtLWciLCJ0eXAiOiJK",
    "V1QifQ.eyJpc3MiOiJodHRwczovL3RlYWNoZXJzLmV4YW1wbGUiLCJhdWQiOiJleGFtLWJvZHktYSIsInN1YiI6IjAxOWNhOGJiL",
    "WI1YzEtN2U1Mi04YTA2LWIxYzRkN2U5ZjIzMCIsImlhdCI6MTc3MjM1NzQwMCwicmVzdWx0Ijp7ImZvdW5kIjpmYWxzZSwic291c",
    "mNlIjpudWxsLCJzdGF0dXMiOiJOT1RfRk9VTkQiLCJlbGlnaWJsZSI6ZmFsc2UsInJlYXNvbnMiOlsiVEVBQ0hFUl9OT1RfRk9VT",
    "kQiXSwidGVhY2hlciI6bnVsbCwibGljZW5zZSI6bnVsbCwiY2VydGlmaWNhdGUiOm51bGwsInByb2ZpbGUiOm51bGx9fQ.dM8Kuc",
    "9BJVGaiEGlJexqwgW4eQo5awsEbWiZCks-qfXuzAD96aTGlzDg8nAK-PTuJZfju3xHNYlZ4cBqG7Q97-ZtTFL3KGd3_IyyUEX1N_",
    "p7xmnoAP2KV9_ZeRvy26rOuUJKEqSrcRFXUu2Wo7RrGjA4UVvevsk_TVDsMKPdkyEiCRiACN4f2PoMJxzRGQjnolErYHXLnu7FFc",
    "N81TX9W1YKl3akd5ePAAyxvOiLQW17qqsY_QHp0hNS0jRKtvE-MKS8ju8ziitUIgMWBgiYwyfnpGqosHHiWi5sBhOe3oD1m5SsrZ",
    "V3MMeqYk-5HSfgLQGRSgg4_D8qfh8shglx4Q",
  ].join(""),
  signatureKid: kid,
};

export const batchResponse = { count: 2, results: [foundEnvelope, notFoundEnvelope] };

export const publicFound: PublicAnswer = {
  found: true,
  name: teacher.name,
  tId: String(tId),
  status: "Licensed",
  state: teacher.state,
  teacher: { ...teacher, tId: String(tId) },
  certificate,
  license,
  verifiedAt: "2026-03-01T09:30:00.123Z",
};

export const publicNotFound: PublicAnswer = { found: false, verifiedAt: "2026-03-01T09:30:00.123Z" };

export const keyHistory = [
  "eyJhbGciOiJSUzI1NiIsImtpZCI6InFFSWdnZjNtMXBaNDlUN3dWVFdXdzRZWV9fOFhjTkY3TU9wdFlEZmMtLWciLCJ0eXAiOiJr",
  "ZXktaGlzdG9yeStqd3QifQ.eyJpc3MiOiJodHRwczovL3RlYWNoZXJzLmV4YW1wbGUiLCJpYXQiOjE3NzIzNTc0MDAsImtleXMiO",
  "lt7ImtpZCI6InFFSWdnZjNtMXBaNDlUN3dWVFdXdzRZWV9fOFhjTkY3TU9wdFlEZmMtLWciLCJzdGF0ZSI6ImFjdGl2ZSIsImNyZ",
  "WF0ZWRBdCI6IjIwMjYtMDEtMDVUMDg6MDA6MDAuMDAwWiIsInB1Ymxpc2hlZEF0IjoiMjAyNi0wMS0wNVQwODowMDowMC4wMDBaI",
  "iwiYWN0aXZhdGVkQXQiOiIyMDI2LTAxLTA1VDA4OjAwOjAwLjAwMFoiLCJyZXRpcmVkQXQiOm51bGwsImNvbXByb21pc2VkU2luY",
  "2UiOm51bGwsImp3ayI6eyJrdHkiOiJSU0EiLCJ1c2UiOiJzaWciLCJhbGciOiJSUzI1NiIsImtpZCI6InFFSWdnZjNtMXBaNDlUN",
  "3dWVFdXdzRZWV9fOFhjTkY3TU9wdFlEZmMtLWciLCJuIjoiMTNxS2VvUWJqZG9iTURFcWZKOTk1R1JVeTBZZU9mLTlqWUQwTnhIe",
  "URtaUg4U3luZy1pWXJWNDY1bDAwZEtBVVpSRmRmN3U5Zy13WmN0UHVmSjBWTS1DSEZBQWltalVDbDQyNVhRZHVtalptSS1GeUpVa",
  "FpzODZkY1pQNkFydm9mYmJOWm9YYjRKaUN3ckJEQjBmQlJXWlA1RTN1dGJ5WkItQzNxRkFmRzVvSW5lRzMtT1VnVTVpMFpmYjFyU",
  "zRfdEhRZVRnRHRGVmdTWk53N0tHOElXMWxJbzJSSkk3YVdmQVJZSHJGRmhTQVNUQkVpblpBUDZNQlJjSU1ZZHdBamJpTWRBRHAwN",
  "WJ5QmwxdV9PUzJ1RUF2c3Z0OXotdVJCYjE3b0lsTlppWndzekx0X0ZiM2lFR29PcWFTb1VTZGhmNHFXV1RjZmFPTUk2eFNJcXZoZ",
  "GhRIiwiZSI6IkFRQUIifX1dfQ.UAOQA5Xev4cPzTmum36VeawrY7674WsVn2gy9Adg2pbWYArbHMrhDAPo3HDkF7UodMaqQ31Jjy",
  "I4FeoK7rwGtU-xSoFL7Ap62N36LMyAZN5-VyOjGg2kkT9yAzcc5h8iP5ni04G5cLr3yQLrfrdRBOM8f1lFR-yb_2EsgNb0UoZ-xn",
  "7xVQ--0m4_CNknL4x1XstAOKGlQsAkVrMinS6G1IYpmLnLYD1JDZpF-iZCEUB_j74rcNxnwwPPW-C18U1cE-hWosSaoxiFuNErFx",
  "GRXdCXY5_DJ2v-332wSS6UbVtFm_BP7hbbzSrdz72tm8kMZUx5qmLtbwBv-SkzCA_vQA",
].join("");

/** The leaf of the envelope that was found, and nobody's key for a log of the two envelopes above. */
export const leafHash = "5d4a9bcecdc85d5d5cd8eec674cb251af26a21d9f535ebcdf9fcd4a877bfcf0d";
export const logKey = "teachers.example/log+f9b6e643+Ab/lE3k80tWakG9E3Fx+plnhkGpM/s5JsbZX1fUcvqPj\n";
const secondLeafHash = "do7E7ELOabaGeW63b72as3r3t2zIhKn2bidHixVyg64=";
export const inclusion = {
  leafIndex: 0,
  treeSize: 2,
  hashes: [secondLeafHash],
  checkpoint: [
    "teachers.example/log\n2\nXPVtVV2gJCPaRHoXequqVeb3JsSeKGWIS58jXGmLTtY=\n",
    "previous 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n\n",
    "— teachers.example/log +bbmQ5MCmVtS/9DSbNV1MvcWUvarFbUrJbDKfJIC4ZI7MQjs7kWeqUULbM8GK2Suzfw1gDtiTSDwR7Ga+Ybj26upzQA=\n",
    "— teachers.example/log 63xhCwAAAABppAc2ez1Ka9iQcsIy58MW/YeiHmBy8VZzLr0hfhf5twp+xYReaPf5KOjmhNWqC/HCEreS0En/bRh1CHFs+yRDQqLBBw==\n",
  ].join(""),
};
export const consistency = { from: 1, to: 2, hashes: [secondLeafHash] };

export const health = { status: "ok", service: "tvs", issuer, activeKid: kid };
export const unavailable = { ...health, status: "unavailable" };

export const errors = {
  badRequest: { statusCode: 400, message: "items[3].identifier.nin must be 11 digits" },
  minuteSpent: {
    statusCode: 429,
    message: "per-minute quota exceeded; retry after 23 s",
    retryAfterSeconds: 23,
  },
  daySpent: {
    statusCode: 429,
    message: "per-day quota exceeded; retry after 52200 s",
    retryAfterSeconds: 52_200,
  },
  addressSpent: {
    statusCode: 429,
    message: "too many lookups from this IP address; try again later",
    retryAfterSeconds: 23,
  },
  personalSpent: {
    statusCode: 429,
    message: "too many lookups by NIN, e-mail or phone from this IP address; try again later",
    retryAfterSeconds: 23,
  },
} as const;

/** An example of each event, in which the teacher's other status is the usual one. */
export const webhookEvents: Readonly<Record<EventType, WebhookEvent>> = {
  "license.verified": anEvent("license.verified", { previousStatus: "NOT_FOUND" }),
  "license.expired": anEvent("license.expired", { licenseStatus: "EXPIRED", previousStatus: "VALID" }),
  "license.revoked": anEvent("license.revoked", { licenseStatus: "REVOKED", previousStatus: "VALID" }),
  "license.reinstated": anEvent("license.reinstated", { previousStatus: "REVOKED" }),
  "certificate.verified": anEvent("certificate.verified", { previousStatus: "CLAIMED" }),
  "certificate.revoked": anEvent("certificate.revoked", {
    certificateStatus: "NOT_FOUND",
    previousStatus: "VERIFIED",
  }),
  "teacher.deactivated": anEvent("teacher.deactivated", {
    licenseStatus: "NOT_FOUND",
    previousStatus: "VALID",
  }),
};

type EventData = WebhookEvent["data"];

function anEvent(
  eventType: EventType,
  changes: Pick<EventData, "previousStatus"> & Partial<EventData>,
): WebhookEvent {
  const { previousStatus, ...statuses } = changes;
  return {
    eventId: "019ca8c4-7b60-7b14-bd0e-55f0c1a2e9d3",
    eventType,
    occurredAt: "2026-03-01T09:39:59.456Z",
    data: { tId, regNo, licenseStatus: "VALID", certificateStatus: "VERIFIED", ...statuses, previousStatus },
  };
}

export const webhookEvent = webhookEvents["license.revoked"];

/** Nobody's secret, and the header that the example event is sent with under it, over its compact JSON. */
export const webhookSecret = "whsec_5f4dcc3b5aa765d61d8327deb882cf99";
export const webhookSignature =
  "t=1772357999,v1=77b87158824ed9363e167073fa1e27a5844c750234a275deb370656c6006b2de";
