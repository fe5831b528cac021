/** The second script of the page, as the first one comes to it. */

import type { Stated } from "../../partner/verify-statement.ts";

/** What the first script takes of it. */
export type Extras = Pick<
  typeof import("./extras.ts"),
  "certificateOf" | "judgeStatement" | "sheetOf" | "statementBox" | "statementPart" | "statementTone"
>;

/** A genuine statement, all of whose shown rows are what was signed, and what shows it. */
export type ShownStatement = {
  readonly stated: Stated & { readonly rows: NonNullable<Stated["rows"]> };
  readonly draw: Extras;
};

/** @param address of the script. @returns loads it, the first time that it is asked for */
export function onDemand(address: string): () => Promise<Extras> {
  let loading: Promise<Extras> | undefined;
  return () => {
    loading ??= import(new URL(address, document.baseURI).href) as Promise<Extras>;
    return loading;
  };
}
