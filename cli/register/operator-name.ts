/** Finds the name of the operator, which is recorded with each change (decision D1.10). */

import { userInfo } from "node:os";
import type { Config } from "../../src/config.ts";
import { addActorPrefix } from "../../src/domain/changes.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { hasHiddenCharacter } from "../../src/domain/plain-text.ts";
import { option } from "../command.ts";
import { findUserName } from "./register.ts";

const maxLength = 64;

export const actorArg = {
  by: option(
    "NAME",
    "Who makes this change, kept with it (TVS_OPERATOR; default who called sudo, else the login name)",
  ),
} as const;

export const actorFilterArg = {
  by: option("NAME", "Only what this operator changed; service for the service itself", addActorPrefix),
} as const;

/** Returns the actor to record: `cli:` and the operator's name. @throws TvsError CONFIG_INVALID for an invalid name */
export function actorOf({ operator }: Pick<Config, "operator">): string {
  const name = (operator?.name ?? loginName()).trim();
  if (name !== "" && name.length <= maxLength && !hasHiddenCharacter(name)) return `cli:${name}`;
  const message = `${operator?.source ?? "the login name"} must be one line of 1 to ${maxLength} printable characters`;
  throw new TvsError("CONFIG_INVALID", message);
}

/** Finds the login name by the user id. Bun's `userInfo` reads the name from the environment, which anyone can set. */
function loginName(): string {
  const { username, uid } = userInfo();
  const known = findUserName(uid);
  if (known !== undefined) return known;
  return username === "" || username === "unknown" ? `uid-${uid}` : username;
}
