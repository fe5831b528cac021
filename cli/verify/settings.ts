/** The settings of `tvs verify`: from flags, else from the environment. */

import { resolve } from "node:path";
import { TvsError } from "../../src/domain/errors.ts";
import { isThumbprint } from "../../src/partner/rsa-key.ts";
import { type LogSettings, settledLogKey } from "./proof.ts";

export type Environment = Record<string, string | undefined>;

/** Where the keys are, and who must have signed for whom. Paths are absolute. */
export type VerifySettings = LogSettings & {
  readonly jwks: string | undefined;
  readonly keyHistory: string | undefined;
  /** The key that must have signed the key history. */
  readonly anchor: string | undefined;
  readonly issuer: string;
  readonly audience: string;
};

/** What one of the two says. */
type Said = {
  jwks?: string | undefined;
  keyHistory?: string | undefined;
  anchor?: string | undefined;
  issuer?: string | undefined;
  audience?: string | undefined;
  logKeys?: readonly string[] | undefined;
  logState?: string | undefined;
};

function usage(message: string): TvsError {
  return new TvsError("USAGE", message);
}

function fromEnvironment(env: Environment): Said {
  return {
    jwks: env.TVS_VERIFY_JWKS,
    keyHistory: env.TVS_VERIFY_KEY_HISTORY,
    anchor: env.TVS_VERIFY_ANCHOR,
    issuer: env.TVS_VERIFY_ISSUER,
    audience: env.TVS_VERIFY_AUDIENCE,
    logKeys: env.TVS_VERIFY_LOG_KEY ? [env.TVS_VERIFY_LOG_KEY] : [],
    logState: env.TVS_VERIFY_LOG_STATE,
  };
}

function absolute(path: string | undefined): string | undefined {
  return path ? resolve(path) : undefined;
}

/**
 * Puts flags and environment together.
 *
 * @param flags what the command line says
 * @param env the environment
 * @throws TvsError `USAGE` when something required is given nowhere
 */
export async function resolveSettings(flags: Said, env: Environment): Promise<VerifySettings> {
  const variables = fromEnvironment(env);
  const pick = (name: keyof Omit<Said, "logKeys">) => flags[name] || variables[name];
  const logKeys = flags.logKeys ?? variables.logKeys ?? [];
  const [jwks, keyHistory] = [absolute(pick("jwks")), absolute(pick("keyHistory"))];
  const [anchor, issuer, audience] = [pick("anchor"), pick("issuer"), pick("audience")];
  if (!jwks && !keyHistory)
    throw usage("no keys to verify with: give --jwks FILE, --key-history FILE or both");
  // An empty variable of a script must not take the pin away.
  if (flags.anchor === "")
    throw usage("--anchor is empty: give the id of the key that signed the key history");
  if (anchor && !keyHistory)
    throw usage("--anchor names the key that signed a key history: give --key-history FILE as well");
  if (anchor && !isThumbprint(anchor))
    throw usage(
      "--anchor is a key id of 43 characters, as the service's health document shows it (activeKid)",
    );
  if (!issuer) throw usage("the issuer is not known: give --issuer URL, the public URL of the service");
  if (!audience) throw usage("the audience is not known: give --audience ID, your partner id");
  if (logKeys.includes("")) throw usage("--log-key is empty: give the log's key, or a file of such keys");
  const logState = absolute(pick("logState"));
  return {
    jwks,
    keyHistory,
    anchor,
    issuer,
    audience,
    logKeys: await Promise.all(logKeys.map(settledLogKey)),
    logState,
  };
}
