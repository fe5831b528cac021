/** Words for what the register has a few values of, as other systems write them. */

import { type ImportField, squeezed } from "./fields.ts";
import { readBoolean, readCertificateStatus, readSource } from "./values.ts";

/** What is likely meant by a word that is not the register's own; it is proposed, and always asked. */
const others = {
  source: {
    read: readSource,
    likely: {
      new_system: "new portal online",
      legacy: "old oldsystem paper archive",
    },
  },
  certificateStatus: {
    read: readCertificateStatus,
    likely: {
      VERIFIED: "approved confirmed authentic genuine valid",
      CLAIMED: "pending submitted unverified notverified",
      NOT_FOUND: "none missing absent",
      LEGACY_RECORD: "legacy oldrecord",
    },
  },
  ninVerified: { read: readBoolean, likely: { true: "verified checked", false: "unverified unchecked" } },
  active: { read: readBoolean, likely: { true: "active", false: "inactive retired" } },
} as const;

type WordField = keyof typeof others;

export function isWordField(field: ImportField): field is WordField {
  return field in others;
}

/** Whether an import reads a word as it is. */
export function isOwnWord(field: ImportField, word: string): boolean {
  return isWordField(field) && "value" in others[field].read(word);
}

/** The register's word for another system's; undefined when nothing is likely. */
export function otherWord(field: ImportField, word: string): string | undefined {
  if (!isWordField(field)) return undefined;
  const found = Object.entries(others[field].likely).find(([, words]) =>
    words.split(" ").includes(squeezed(word)),
  );
  return found?.[0];
}
