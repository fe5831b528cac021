/** The sandbox as the commands open it that are for nothing else: a live register is refused, and nothing changed. */

import { Buffer } from "node:buffer";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../../src/config.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { isSandbox } from "../../src/domain/sandbox/state.ts";
import type { Secrets } from "../../src/domain/secrets.ts";
import { configOf } from "../command.ts";
import { type Operator, settingsOfRegister, withOperator } from "../open.ts";
import { locationOf } from "../register/register.ts";

/**
 * Opens the sandbox, acts and closes. `--sandbox` needs not be said: these commands use no other database.
 * @throws TvsError REGISTER_MISSING, REFUSED for a live register
 */
export async function withSandbox<T>(args: object, act: (operator: Operator) => Promise<T>): Promise<T> {
  const config = configOf({ ...args, sandbox: true });
  await requireSandbox(config);
  return withOperator(config, act);
}

/** Asked before the database is opened in earnest: opening an older one would already change it. */
async function requireSandbox(config: Config): Promise<void> {
  const stored = await settingsOfRegister(config);
  const place = locationOf(config);
  if (stored === null) {
    const isLiveThere = config.database.kind === "file" && existsSync(join(config.dataDir, "tvs.db"));
    const besides = isLiveThere ? ", only a live register, which this command never touches" : "";
    const message = `there is no sandbox at ${place}${besides}; tvs serve --sandbox makes one, and --data or TVS_DATA says where it is`;
    throw new TvsError("REGISTER_MISSING", message);
  }
  const refusal = `${place} is a live register, and this command is for a sandbox only`;
  if (!isSandbox(stored)) throw new TvsError("REFUSED", refusal);
}

/**
 * A secret that a sandbox keeps, encrypted, so that it is the same at every start.
 * @param mint makes it, the first time
 */
export async function keptSecret(
  { settings, secrets }: Operator,
  { name, mint }: { name: string; mint: () => string },
): Promise<string> {
  const stored = (await settings.read()).get(name);
  if (stored !== undefined)
    return new TextDecoder().decode(secrets.open(new Uint8Array(Buffer.from(stored, "base64")), name));
  const text = mint();
  await settings.write({ [name]: sealedSecret(secrets, name, text) });
  return text;
}

/** As `keptSecret` finds it again. */
export function sealedSecret(secrets: Secrets, name: string, text: string): string {
  return Buffer.from(secrets.seal(new TextEncoder().encode(text), name)).toString("base64");
}
