/** What the command line had once, and what does now what it did: who still uses it is told in one line. */

import type { Environment } from "../src/config.ts";
import { TvsError } from "../src/domain/errors.ts";

const readFromPrimary =
  "every node reads the database that --database (TVS_DATABASE) names, public lookups too; leave it out";

/** Options, by their names without the dashes. */
export const removedOptions: Readonly<Record<string, string>> = {
  profile:
    "the variables TVS_VERIFY_JWKS, _KEY_HISTORY, _ANCHOR, _ISSUER, _AUDIENCE, _LOG_KEY and _LOG_STATE hold it",
  "save-profile":
    "export TVS_VERIFY_JWKS, _KEY_HISTORY, _ANCHOR, _ISSUER, _AUDIENCE, _LOG_KEY and _LOG_STATE instead",
  qr:
    "the service's page /verify-envelope reads pictures and PDFs of an attestation, and sends nothing of them; what a " +
    "QR reader says is text for tvs verify, see tvs help verify",
  "tsa-ca":
    "OpenSSL judges an authority's answer, with its certificates as -CAfile: leave the option out, and run the line " +
    "openssl ts -verify that tvs log anchor prints (a timer: tvs service install anew)",
  "read-from": readFromPrimary,
};

/** Variables of the environment that only options had which are gone. */
export const removedVariables: Readonly<Record<string, string>> = {
  TVS_READ_FROM: readFromPrimary,
  TVS_READ_FROM_TOKEN: readFromPrimary,
};

/** @throws TvsError CONFIG_INVALID */
export function refuseRemovedVariables(environment: Environment): void {
  for (const [name, instead] of Object.entries(removedVariables))
    if (environment[name]) throw new TvsError("CONFIG_INVALID", `${name} is gone: ${instead}`);
}

/** Commands, by the words after `tvs`. */
export const removedCommands: Readonly<Record<string, string>> = {
  changelog:
    "what each version changed stands in CHANGELOG.md of the repository, and where the Debian package is installed in " +
    "/usr/share/doc/tvs/changelog.gz",
};
