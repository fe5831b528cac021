/**
 * Every sentence that the script of the envelope page says; the reasons of a refusal are the partner library's own. What
 * stands in the page before it runs is in form-texts.ts, so that nobody loads it twice.
 */

import { englishStatuses } from "../texts/status-words.ts";
import { type Translations, textsIn } from "../texts/test-language.ts";
import { englishCertificate, englishGathering } from "./certificate-texts.ts";
import { englishLog } from "./log-texts.ts";
import { englishStatement } from "./statement-texts.ts";

const english = {
  /** In which form dates and numbers are written (BCP 47). */
  locale: "en-GB",
  insecure:
    "This page came over http, and browsers do their cryptography only on pages that came over https. Open it with https://, or use tvs verify.",

  /** What a browser's tab says: the verdict before the page's own title. */
  tab: (said: string, title: string) => `${said} – ${title}`,
  again: "Check another",
  change: "Change the settings",

  busy: "Checking…",
  reading: "Reading the picture…",

  problems: {
    title: "Cannot be decided",
    empty: "There is nothing to verify: open a file, or paste an envelope.",
    tooLarge:
      "This is more than 1 MiB of text. An envelope has a few kilobytes: verify large files with tvs verify.",
    fileTooLarge: "The file is larger than 20 MiB.",
    imageTooLarge: "The picture has more than 40 million pixels. Make it smaller, and try again.",
    manyFiles: "Those are more than 100 files. Verify many files with tvs verify.",
    wrongType:
      "This kind of file holds no envelope. Open JSON or text, or an attestation as PDF, PNG or JPEG.",
    mixed: "Open either envelopes or pictures of one attestation, not both at once.",
    fileUnreadable: "The file could not be read. It may have been moved, or not yet be on this device.",
    imageUnreadable: "The picture is damaged, or of a kind that this browser does not show.",
    pdfUnreadable: "The PDF is damaged, or it opens only with a password.",
    pdfTooLarge:
      "The PDF has more than 120 pictures, or more than 120 million pixels in them. Open pictures of the codes alone.",
    pictureTooSlow:
      "Reading the picture took too long, more than 30 seconds. Crop it to the codes, or open one picture of each code.",
    noEnvelope: "There is no envelope in it.",
    noCode:
      "No QR code of an attestation was found. Take a sharper picture, straight from above, of one code at a time, and open all the pictures together.",
    codes: {
      envelope: {
        missing: (missing: string, total: number) =>
          `The attestation has ${total} codes, and these were not found: ${missing}. Take sharper pictures of them, and open all the pictures together.`,
        several: "The codes belong to different attestations. Open one attestation at a time.",
        damaged: "The codes do not fit together: one of them was damaged or replaced.",
      },
      proof: englishLog.codesOfProof,
    },
    manyProofs: (count: number) =>
      `Those are ${count} proofs. Open one proof with the envelope that it belongs to, or use tvs verify.`,
    readerFailed:
      "The part of this page that reads pictures could not be loaded. Check the connection, and try again.",
    keysUnreachable: (why: string) =>
      `The keys of this service could not be fetched (${why}). That says nothing about the envelope. Try again later, or paste the keys.`,
    status: (status: number) => `it answered ${status}`,
    noConnection: "no connection",
    noPack: "what came is no offline pack",
    noKeys: "Paste the key set, the key history or both: without a key nothing can be checked.",
    keysTooLarge: "The keys are larger than 4 MiB.",
    noLogKey:
      "Paste the evidence log's key as well, or remove the proof: without the key it cannot be checked.",
    badLogKey: "What is given as the evidence log's key is not one. Nothing is known about the proof.",
    badTime: "The time of arrival is not understood. Write it like 2026-03-01T12:00:30Z, or leave it empty.",
    noSecret: "Type in the webhook secret.",
    unexpected:
      "Something in this page failed. Nothing is known about the envelope. Reload the page, and try again.",
  },

  verdicts: {
    valid: "Signature: genuine",
    backdatable: "Signature: genuine, but perhaps backdated",
    refused: "Not genuine",
    undecidable: "Cannot be decided",
    elsewhere: "Cannot be decided here",
    withdrawn: "Withdrawn since: no longer to be relied on",
    noList: "Cannot be decided: whether it still holds is not known",
    changed: "Not genuine: it was changed after signing",
    otherPartner: "Not for this partner",
    otherIssuer: "Not from the issuer that you named",
    badKeys: "Not accepted: the keys are bad",
    compromised: "Not accepted: its key was compromised",
    future: "Not accepted: it is from the future",
    notAnEnvelope: "Not an envelope",
    /** Genuine is not licensed: what was answered has a verdict of its own. */
    answer: (day: string, status: string, isEligible: boolean) =>
      `Answer on ${day}: ${status}, ${isEligible ? "eligible" : "not eligible"}`,
    nobody: (day: string) => `Answer on ${day}: NOT_FOUND, no such teacher`,
  },
  /** What follows the verdict, for whom it would mislead. */
  meanings: {
    valid: (issuer: string) => `It was signed by ${issuer}, and nothing in it was changed since.`,
    answer: {
      nobody: "The service answered that no such teacher was found.",
      licensed: (name: string, end: string) =>
        `${name} held a licence to teach on that day, valid to the end of ${end}.`,
      expired: (name: string, end: string) =>
        `${name} was on the register. The licence to teach had ended on ${end}.`,
      revoked: (name: string) => `${name} was on the register. The licence to teach had been withdrawn.`,
      notLicensed: (name: string) => `${name} was on the register, but held no licence to teach on that day.`,
      because: (reasons: string) => `Because ${reasons}.`,
    },
    trust: (signer: string, time: string) =>
      `Trust rests on the key history alone, which key ${signer} signed on ${time}. If it came with the envelope, it proves nothing.`,
    changed:
      "The signature is good, but what stands beside it is not what was signed. Only the signed values below can be trusted.",
    otherPartner: "The signature is good, but it was given to another partner than the one you named.",
    otherIssuer: "The signature is good, but it was made for another issuer than the one you named.",
    withdrawn: "The signature is good, and the answer was given on its day.",
    noList: "The signature is good. Open this page with a network, and try again.",
    notCompared: (what: string) => `You gave no ${what}, so it was not compared.`,
    issuer: "issuer",
    audience: "partner id",
    undecidable: "This does not mean that it is false.",
    noEnvelope: "It says nothing about any teacher, and it is no proof that an envelope is false.",
    claimed: (issuer: string) => `It says it comes from ${issuer}, which nothing here proves.`,
    elsewhere: (issuer: string) =>
      `It says it comes from ${issuer}, which is another service. Check it there: nothing here proves that it does, so open that service by an address that you know.`,
    unknownKey:
      "This service has published no key with the id that it names. It may be damaged or made up, or the service may have a new key: reload the page, and try again.",
    code: "Code:",
  },
  /** Whether a list was asked if an answer still holds. */
  standing: {
    by: (time: string) => `Not withdrawn since, by this service’s list of ${time}.`,
    no: (time: string) => `The answer was no. By this service’s list of ${time} it is withdrawn now.`,
    notAsked: "No list was asked whether this was withdrawn since.",
  },
  kept: (time: string) =>
    `Keys and lists of ${time} are kept on this device: without a network this page also works, but for PDFs and proofs of the log.`,
  /** What has become of an answer since its day. */
  since: {
    ended: (day: string) => `The licence it speaks of ended on ${day}.`,
    old: (days: number) => `This answer is ${days} days old, and does not say how things stand today.`,
    askAgain: "Ask the service again.",
    today: (host: string) => `See today’s answer at ${host} (opens a new page)`,
    some: (count: number) =>
      `${count} of them ${count === 1 ? "is" : "are"} more than 30 days old, or of a licence that has ended since. Ask again.`,
  },
  many: (total: number, genuine: number) => `Signatures: ${genuine} of ${total} genuine`,
  manyAnswers: (genuine: number, eligible: number) => `Answers: ${eligible} of ${genuine} eligible`,
  item: (number: number) => `Number ${number}`,
  tooMany: (shown: number) => `Only the first ${shown} are shown. Use tvs verify for the rest.`,
  fromFile: (name: string) => `File ${name}`,

  signed: {
    title: "What is signed",
    none: "No signed value is shown: nothing in it can be relied on here.",
    verificationId: "Verification id",
    verifiedAt: "Signed on",
    issuer: "Signed by",
    audience: "Signed for",
    kid: "Key id",
    teacher: "Teacher",
    tId: "Teacher id",
    regNo: "Registration number",
    state: "State",
    category: "Category",
    license: "Licence",
    certificate: "Teaching certificate",
    eligible: "Eligible for the purpose asked about",
    reasons: "Because",
    all: "Everything that is signed, as JSON",
    yes: "Yes",
    no: "No",
    notFound: "No teacher was found",
    issued: (date: string) => `issued ${date}`,
    begins: (date: string) => `begins ${date}`,
    ends: (date: string) => `ends ${date}`,
    noDay: "a day that is not recorded",
    /** A word of the register, and the code that is signed. */
    coded: (word: string, code: string) => `${word} (${code})`,
    time: (day: string, time: string) => `${day}, ${time} UTC`,
    statuses: {
      VALID: englishStatuses.licensed,
      EXPIRED: englishStatuses.expired,
      REVOKED: "Revoked",
      NOT_FOUND: englishStatuses.notLicensed,
    },
    certificates: englishStatuses.certificates,
  },

  differences: {
    title: "What was changed",
    caption: "The envelope beside its signature",
    member: "Member",
    signed: "Signed (trust this)",
    outer: "Shown in the envelope",
    differs: "differs",
    absent: "(absent)",
    same: "Every other member is as it was signed.",
  },

  checks: {
    sum: (passed: number, failed: number, skipped: number) =>
      [
        `Every check: ${passed} passed`,
        failed === 0 ? "" : `, ${failed} failed`,
        skipped === 0 ? "" : `, ${skipped} not made`,
      ].join(""),
    passed: "Passed",
    failed: "Failed",
    skipped: "Not made",
    names: {
      form: "Form",
      header: "Signature header",
      keySet: "Key set",
      key: "Key",
      signature: "Signature",
      log: "Evidence log",
      compromise: "Key's safety",
      window: "Key's time of use",
      claims: "Signed claims",
      issuer: "Issuer",
      audience: "Partner",
      time: "Time of signing",
      outer: "Unsigned copy",
      status: "Withdrawn since",
    },
    notCompared: (what: string, value: string) => `You gave no ${what} to compare with. It is ${value}.`,
  },

  certificate: englishCertificate,
  gathering: englishGathering,
  log: englishLog,
  statement: englishStatement,
  webhookVerdict: {
    meaning: "The delivery was signed with this secret over exactly this body.",
    late: "Not accepted: not of this moment",
    noEvent: "The body is signed, but it is no event of the contract.",
    advice: {
      SIGNATURE_HEADER_MALFORMED:
        "Paste the header's value only, as it was received, without the header's name.",
      SIGNATURE_MISMATCH:
        "Give the whole secret, whsec_ included, and the body byte for byte, before any program parsed it.",
      OUTSIDE_REPLAY_WINDOW:
        "The signature itself is good. To judge a delivery that was kept, give the time of its arrival.",
    },
    signedAt: "Signed on",
    event: (type: string) => `Event: ${type}`,
    header: "Signature header",
    signature: "Signature",
    replay: "Replay window",
    details: {
      header: "It has the form t=…,v1=….",
      signature: "It was made with this secret over this body.",
      replay: "Signed within 300 seconds of the time of arrival.",
      notReached: "Not reached.",
    },
  },

  reasons: {
    TEACHER_NOT_FOUND: "no such teacher is registered",
    TEACHER_DEACTIVATED: "the teacher's registration is deactivated",
    LICENSE_NOT_FOUND: "there is no licence",
    LICENSE_NOT_YET_VALID: "the licence has not begun",
    LICENSE_EXPIRED: "the licence has expired",
    LICENSE_REVOKED: "the licence was revoked",
    LICENSE_EXPIRES_TOO_SOON: "the licence expires too soon for this purpose",
    CERTIFICATE_NOT_FOUND: "there is no teaching certificate",
    CERTIFICATE_CLAIMED: "the teaching certificate is claimed, not verified",
    CERTIFICATE_LEGACY_ONLY: "the teaching certificate is only known from the old records",
    SOURCE_NOT_ACCEPTED: "the record's source is not accepted for this purpose",
    CATEGORY_NOT_ACCEPTED: "the teacher's category is not accepted for this purpose",
    POLICY_MISSING: "there is no rule for this purpose",
  },
};

/** What every language has to say. */
export type EnvelopeTexts = typeof english;

/** By the tags of ../language.ts. */
const languages: Translations<EnvelopeTexts> = { en: english };

/** @param tag a language's tag (BCP 47), as in the document's `lang` */
export function envelopeTexts(tag: string): EnvelopeTexts {
  return textsIn(tag, languages);
}

/** Something that keeps the page from checking. Its message is for the reader, and never quotes what was put in. */
export class PageProblem extends Error {}
