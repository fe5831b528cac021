/** The command line of `tvs verify` and of `tvs-verify`, which is the same. */

import { parseArgs } from "node:util";
import type { ArgsDef } from "citty";
import { TvsError } from "../../src/domain/errors.ts";
import { commonArgs, flag, option } from "../command.ts";
import type { VerifySettings } from "./settings.ts";

export const verifyArgs = {
  jwks: option("FILE", "The service's JWKS (TVS_VERIFY_JWKS)"),
  "key-history": option(
    "FILE",
    "The key history (TVS_VERIFY_KEY_HISTORY); beside a JWKS it counts only when its signer is in that",
  ),
  anchor: option("KID", "The key that must have signed the key history (TVS_VERIFY_ANCHOR)"),
  issuer: option("URL", "Who must have signed (TVS_VERIFY_ISSUER)"),
  audience: option("ID", "Your partner id (TVS_VERIFY_AUDIENCE)"),
  proof: option("FILE", "The proof that the envelope is in the service's evidence log; needs --log-key"),
  "log-key": option(
    "KEY|FILE",
    "The log's key, or a file of such keys; may be given several times (TVS_VERIFY_LOG_KEY)",
  ),
  "log-state": option(
    "FILE",
    "Remember the largest checkpoint seen of each log, and refuse a fork (TVS_VERIFY_LOG_STATE)",
  ),
  now: option("TIME", "Check as of this time (ISO 8601)"),
  json: flag("Print one JSON object a line, one for each envelope"),
} as const satisfies ArgsDef;

/** Strict: a mistyped flag must not quietly turn into an envelope that is judged by other rules. */
export function parseFlags(rawArgs: readonly string[]) {
  try {
    return parseArgs({
      args: [...rawArgs],
      options: { ...verifyArgs, ...commonArgs, "log-key": { type: "string", multiple: true } },
      allowPositionals: true,
      strict: true,
    });
  } catch (error) {
    // Node's message names the flag; its further sentences are advice for other programs.
    const [sentence] = String((error as Error).message).split(/\. |\n/);
    throw new TvsError("USAGE", `${sentence}; --help shows its options`);
  }
}

/** What only a proof needs must not look as if it had been judged by. */
export function assertProofFlags(
  flags: ReturnType<typeof parseFlags>["values"],
  { logKeys }: VerifySettings,
): void {
  const { proof } = flags;
  const isForProof = flags["log-key"] !== undefined || flags["log-state"] !== undefined;
  if (isForProof && proof === undefined)
    throw new TvsError("USAGE", "--log-key and --log-state are for a proof: give --proof FILE as well");
  if (proof === "") throw new TvsError("USAGE", "--proof is empty: give the file of the proof");
  if (proof !== undefined && logKeys.length === 0)
    throw new TvsError(
      "USAGE",
      "--proof needs the key of the log: give --log-key KEY, as tvs log key and the service's /log/key print it",
    );
}
