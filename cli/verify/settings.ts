/** The settings of `tvs verify`: from flags, from a saved profile, from the environment, in this order. */

import { mkdir, readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { TvsError } from "../../src/domain/errors.ts";
import { Refusal } from "../../src/partner/reasons.ts";
import { isThumbprint } from "../../src/partner/rsa-key.ts";
import { isJsonObject, type JsonObject, readStrictJson } from "../../src/partner/strict-json.ts";
import { placeOver, writeBeside } from "../../src/store/driver/files.ts";
import { type LogSettings, settledLogKey } from "./proof.ts";

export type Environment = Record<string, string | undefined>;

/** Where the keys are, and who must have signed for whom. Paths are absolute. */
export type Profile = LogSettings & {
  jwks: string | undefined;
  keyHistory: string | undefined;
  /** The key that must have signed the key history. */
  anchor: string | undefined;
  issuer: string;
  audience: string;
};

/** The flags as they were given; `profile` names a saved one. */
type VerifyFlags = {
  jwks?: string | undefined;
  keyHistory?: string | undefined;
  anchor?: string | undefined;
  issuer?: string | undefined;
  audience?: string | undefined;
  logKeys?: readonly string[] | undefined;
  logState?: string | undefined;
  profile?: string | undefined;
};

type Sources = Omit<VerifyFlags, "profile">;

function usage(message: string): TvsError {
  return new TvsError("USAGE", message);
}

function profilePath(env: Environment): string {
  const home = env.HOME ?? env.USERPROFILE;
  const folder = env.XDG_CONFIG_HOME || (home && join(home, ".config"));
  if (!folder) throw usage("profiles need a home folder: set HOME or XDG_CONFIG_HOME");
  return join(folder, "tvs", "verify.json");
}

async function readProfiles(path: string): Promise<JsonObject> {
  const bytes = await readFile(path).catch(() => null);
  if (bytes === null) return {};
  const reading = readStrictJson(bytes);
  const profiles = !(reading instanceof Refusal) && isJsonObject(reading) ? reading.profiles : undefined;
  if (!isJsonObject(profiles)) throw usage(`the profiles in ${path} are damaged: mend or remove the file`);
  return profiles;
}

async function loadProfile(name: string, env: Environment): Promise<Sources> {
  const path = profilePath(env);
  const profiles = await readProfiles(path);
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (!isJsonObject(profile))
    throw usage(`no profile ${name} in ${path}: save one with --save-profile ${name}`);
  const text = (member: string) => (typeof profile[member] === "string" ? profile[member] : undefined);
  const logKeys = Array.isArray(profile.logKeys) ? profile.logKeys.map(String) : [];
  return {
    jwks: text("jwks"),
    keyHistory: text("keyHistory"),
    anchor: text("anchor"),
    issuer: text("issuer"),
    audience: text("audience"),
    logKeys,
    logState: text("logState"),
  };
}

/**
 * Saves a profile for later runs. The file is replaced in one step, so a reader never sees half of it.
 *
 * @param name the profile's name
 * @param profile what to save
 * @param env the environment, for the place of the file
 * @returns the file's path
 */
export async function saveProfile(name: string, profile: Profile, env: Environment): Promise<string> {
  const path = profilePath(env);
  const profiles = { ...(await readProfiles(path)), [name]: profile };
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  placeOver(await writeBeside(path, `${JSON.stringify({ profiles }, null, 2)}\n`), path);
  return path;
}

function fromEnvironment(env: Environment): Sources {
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
 * Puts flags, profile and environment together.
 *
 * @param flags what the command line says
 * @param env the environment
 * @throws TvsError `USAGE` when something required is given nowhere
 */
export async function resolveProfile(flags: VerifyFlags, env: Environment): Promise<Profile> {
  const saved = flags.profile === undefined ? {} : await loadProfile(flags.profile, env);
  const layers: Sources[] = [flags, saved, fromEnvironment(env)];
  const pick = (name: keyof Omit<Sources, "logKeys">) => layers.map((layer) => layer[name]).find(Boolean);
  const logKeys = layers.map((layer) => layer.logKeys ?? []).find((keys) => keys.length > 0) ?? [];
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
