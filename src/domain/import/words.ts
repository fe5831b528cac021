/** Translates other systems' words for sources, statuses, and yes and no. */

import { certificateStatuses, teacherSources } from "../../partner/contract.ts";
import { type ImportField, normalizeName } from "./fields.ts";
import * as values from "./values.ts";

/** Maximum number of different words in a column that is recognised as a column of statuses. */
export const maxStatusWords = 20;
const maxLetters = 64;

function lettersOf(text: string): string {
  return text
    .slice(0, maxLetters)
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^\p{L}]+/gu, "")
    .replaceAll("licence", "license");
}

const withdrawal =
  /revo[ck]|struckoff|struckfrom|struckout|strikeoff|strikingoff|stricken|suspen[ds]|withdr[aeo]w|cancel|barred|deregis|removed|removal|disqualif|surrender|annul|expel|expul|banned|prohibit|rescind|nullif|invalidated|voided|forfeit|delist|blacklist|erased|erasure|terminated|termination|dismiss|excluded/;
/** Matches words that mean a withdrawal only as the whole text: `ban` means a withdrawal, `Banjo` does not. */
const shortWithdrawal =
  /^(?:struck|strike|void|ban|susp|suspd|revd|canc|cxl|dereg|removefromregister|offregister|offtheregister|unregistered)$/;
const negation = /^(?:not|never|no|non|un)(?!tice|ted|tably)/;

/** Whether a text means that a licence was withdrawn: revoked, struck off, suspended, cancelled and the like. */
export function isWithdrawalWord(word: string): boolean {
  const letters = lettersOf(word);
  if (shortWithdrawal.test(letters)) return true;
  return withdrawal.test(letters) && !negation.test(letters);
}

const subject =
  "(?:license|^lic|registration|^regn?|^regd|registrant|register|teachers?|member(?:ship)?|practi[cs]\\w*|professional|disciplinary|fitness\\w*)";
const statusNames = [
  /^(?:current|present|latest|overall|good|in|legal)*(?:status|standing)(?:code|word|desc|description|name|now|text)?$/,
  new RegExp(`${subject}(?:current|present|s)*(?:status|standing)`),
  /(?:status|standing|state|condition|validity)(?:of|in|on|for)(?:the|a|his|her|their)?(?:license|registration|register|teacher|member|practi)/,
  /(?:license|^lic)(?:state|condition|validity|valid|active|inforce)$/,
  /^(?:is)?(?:valid|active|validity)(?:of)?license$/,
];

/** Whether a column's name suggests licence statuses. Names such as `Certificate Status` do not. */
export function isStatusColumnName(name: string): boolean {
  const letters = lettersOf(name);
  if (withdrawal.test(letters)) return true;
  if (/cert|employ|marital|nin|payment|account/.test(letters.replaceAll("training", ""))) return false;
  return statusNames.some((pattern) => pattern.test(letters));
}

/** For each field with fixed words: the words, their reader, and other systems' words that probably mean the same. */
const wordFields = {
  source: {
    words: teacherSources,
    read: values.readSource,
    likely: {
      new_system: "new portal online",
      legacy: "old oldsystem paper archive",
    },
  },
  certificateStatus: {
    words: certificateStatuses,
    read: values.readCertificateStatus,
    likely: {
      VERIFIED: "approved confirmed authentic genuine valid",
      CLAIMED: "pending submitted unverified notverified",
      NOT_FOUND: "none missing absent",
      LEGACY_RECORD: "legacy oldrecord",
    },
  },
  licenseStatus: {
    words: values.licenseStatusWords,
    read: values.readLicenseStatus,
    likely: {
      VALID:
        "active current licensed registered practising practicing inforce goodstanding ingoodstanding ok",
      EXPIRED: "lapsed inactive outofdate overdue notrenewed renewaldue dormant",
      NONE: "neverissued notlicensed unlicensed notissued neverlicensed nolicense provisional pending applicant",
    },
  },
  ninVerified: {
    words: ["true", "false"],
    read: values.readBoolean,
    likely: { true: "verified checked", false: "unverified unchecked" },
  },
  active: {
    words: ["true", "false"],
    read: values.readBoolean,
    likely: { true: "active", false: "inactive retired" },
  },
} as const;

type WordField = keyof typeof wordFields;

export function hasFixedWords(field: ImportField): field is WordField {
  return field in wordFields;
}

export function isRegisterWord(field: ImportField, word: string): boolean {
  return hasFixedWords(field) && "value" in wordFields[field].read(word);
}

export function rejectionCodeOf(field: WordField): string {
  const read = wordFields[field].read("");
  return "code" in read ? read.code : "";
}

export function canFieldBeEmpty(field: WordField): boolean {
  return field !== "source" && field !== "certificateStatus";
}

export function registerWordsOf(field: WordField): readonly string[] {
  return wordFields[field].words;
}

/** Finds the register's word that another system's word probably means. @returns undefined if no word fits */
export function guessRegisterWord(field: ImportField, word: string): string | undefined {
  if (!hasFixedWords(field)) return undefined;
  if (field === "licenseStatus" && isWithdrawalWord(word)) return "REVOKED";
  const found = Object.entries(wordFields[field].likely).find(([, words]) =>
    words.split(" ").includes(normalizeName(word)),
  );
  return found?.[0];
}
