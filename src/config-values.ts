/** What a setting may be, whether it was given as a flag or by the environment. */

import * as v from "valibot";
import type { TvsError } from "./domain/errors.ts";
import { isWildcard, parseNetwork } from "./domain/networks.ts";

export const text = v.pipe(v.string(), v.trim(), v.nonEmpty("must not be empty"));
export const count = (max: number) =>
  v.pipe(
    v.string(),
    v.regex(/^\d{1,9}$/, "must be a whole number"),
    v.transform(Number),
    v.maxValue(max, `must be at most ${max}`),
  );
export const flag = v.union(
  [
    v.boolean(),
    v.pipe(
      v.picklist(["1", "0", "true", "false", "yes", "no", "on", "off"]),
      v.transform((word) => ["1", "true", "yes", "on"].includes(word)),
    ),
  ],
  "must be true or false",
);
export const timeZone = v.pipe(text, v.check(isTimeZone, "must be an IANA time zone such as Africa/Lagos"));
export const issuer = v.pipe(
  text,
  v.check(isHttpAddress, "must be an http or https URL without user, query or fragment"),
  v.check((address) => !isWildcard(address), "must be the URL at which others reach the service"),
);
const list = v.pipe(
  v.union([v.string(), v.array(v.string())]),
  v.transform((given) =>
    [given]
      .flat()
      .join(",")
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== ""),
  ),
);
/** Lists of networks, checked before anything is opened or made. */
export const networks = v.pipe(
  list,
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    try {
      dataset.value.forEach(parseNetwork);
    } catch (error) {
      addIssue({ message: (error as TvsError).message });
    }
  }),
);

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

/** Whether a text is a web address as it is written, for so partners compare it: a URL parser would correct it silently. */
function isHttpAddress(address: string): boolean {
  return /^https?:\/\/[^\s?#@\\/][^\s?#@\\]*$/i.test(address) && URL.canParse(address);
}
