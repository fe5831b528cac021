/** Words for what the register has a few values of, as other systems write them. */

import { certificateStatuses, sources } from "../../partner/contract.ts";
import { type ImportField, squeezed } from "./fields.ts";
import { meansWithdrawn } from "./status-column.ts";
import { licenseWords, readBoolean, readCertificateStatus, readLicenseStatus, readSource } from "./values.ts";

/** What is likely meant by a word that is not the register's own; it is proposed, and always asked. */
const others = {
  source: {
    words: sources,
    read: readSource,
    likely: {
      new_system: "new portal online",
      legacy: "old oldsystem paper archive",
    },
  },
  certificateStatus: {
    words: certificateStatuses,
    read: readCertificateStatus,
    likely: {
      VERIFIED: "approved confirmed authentic genuine valid",
      CLAIMED: "pending submitted unverified notverified",
      NOT_FOUND: "none missing absent",
      LEGACY_RECORD: "legacy oldrecord",
    },
  },
  licenseStatus: {
    words: licenseWords,
    read: readLicenseStatus,
    likely: {
      VALID:
        "active current licensed registered practising practicing inforce goodstanding ingoodstanding ok",
      EXPIRED: "lapsed inactive outofdate overdue notrenewed renewaldue dormant",
      NONE: "neverissued notlicensed unlicensed notissued neverlicensed nolicense provisional pending applicant",
    },
  },
  ninVerified: {
    words: ["true", "false"],
    read: readBoolean,
    likely: { true: "verified checked", false: "unverified unchecked" },
  },
  active: {
    words: ["true", "false"],
    read: readBoolean,
    likely: { true: "active", false: "inactive retired" },
  },
} as const;

type WordField = keyof typeof others;

export function isWordField(field: ImportField): field is WordField {
  return field in others;
}

/** Whether an import reads a word as it is. */
export function isOwnWord(field: ImportField, word: string): boolean {
  return isWordField(field) && "value" in others[field].read(word);
}

/** Whether an empty cell is read: it is no word, and says nothing. */
export function mayBeEmpty(field: WordField): boolean {
  return field !== "source" && field !== "certificateStatus";
}

/** The register's own words of a field. */
export function ownWords(field: WordField): readonly string[] {
  return others[field].words;
}

/** The register's word for another system's; undefined when nothing is likely. */
export function otherWord(field: ImportField, word: string): string | undefined {
  if (!isWordField(field)) return undefined;
  if (field === "licenseStatus" && meansWithdrawn(word)) return "REVOKED";
  const found = Object.entries(others[field].likely).find(([, words]) =>
    words.split(" ").includes(squeezed(word)),
  );
  return found?.[0];
}
