/**
 * What retention has deleted, authenticated under the master key (decision D13.10): a row of the database alone excuses no
 * gap in it. The mark is made before the first checkpoint that is chained; what was deleted before that is believed only
 * where a signed time shows that it was old enough.
 */

import { Buffer } from "node:buffer";
import { equalBytes, type Secrets } from "../secrets.ts";

export type RetentionMark = {
  /** Of the attestations from this id on, only those may be missing that the mark covers. */
  readonly begun: number;
  /** Up to this one, it included, they may have been deleted; below `begun` when none was. */
  readonly through: number;
  /** What was issued before may have been deleted, in seconds since the epoch; null when nothing was. */
  readonly from: number | null;
  /** The same as `from`, as a release said that authenticated nothing; of the ids below `begun`. */
  readonly unsealedFrom: number | null;
  /** The ids with which epochs begin: without it, whoever moves ids and beginnings together moves the mark too. */
  readonly begins?: Readonly<Record<string, number>>;
  /** What closed epochs had signed for when they were closed, their root in base64. */
  readonly ends?: Readonly<Record<string, { readonly size: number; readonly root: string }>>;
};

type Mac = Pick<Secrets, "mac">;

const tagOf = ({ mac }: Mac, kind: "mark" | "setting", text: string) =>
  Buffer.from(mac("retention", `${kind}\n${text}`)).toString("base64url");

function isTag(secrets: Mac, kind: "mark" | "setting", text: string, tag: string): boolean {
  return equalBytes(Buffer.from(tagOf(secrets, kind, text)), Buffer.from(tag));
}

/** The mark as the database has it: JSON, a dot, and the MAC over all of it. */
export function sealMark(mark: RetentionMark, secrets: Mac): string {
  const text = JSON.stringify(mark);
  return `${text}.${tagOf(secrets, "mark", text)}`;
}

/** @returns null for one that was not made under this master key */
export function openMark(sealed: string, secrets: Mac): RetentionMark | null {
  const end = sealed.lastIndexOf(".");
  const text = sealed.slice(0, Math.max(end, 0));
  return isTag(secrets, "mark", text, sealed.slice(end + 1)) ? (JSON.parse(text) as RetentionMark) : null;
}

/** The setting beside `keep_attestations` that says that this program wrote it. */
export const retentionTagSetting = "keep_attestations_mac";

/** The tag of a retention that the operator has said. */
export function retentionTag(retention: string, secrets: Mac): string {
  return tagOf(secrets, "setting", retention);
}

export function isOwnRetention(retention: string, tag: string | undefined, secrets: Mac): boolean {
  return tag !== undefined && isTag(secrets, "setting", retention, tag);
}
