/** The options of `tvs serve`, besides those that every command has. */

import type { Config, Environment } from "../../src/config.ts";
import { type Args, flag, option } from "../command.ts";
import { byArg } from "../register/operator-name.ts";

export const serveArgs = {
  host: option("ADDRESS"),
  port: option("N"),
  signers: option("N"),
  issuer: option("URL"),
  "access-log": flag(),
  "public-per-minute": option("N"),
  "time-zone": option("ZONE"),
  policy: option("FILE"),
  site: option("FILE"),
  "keep-attestations": option("TIME"),
  "status-list": option("on|off"),
  "allow-private-webhooks": flag(),
  "signing-engine": option("auto|crypto_mb|openssl|webcrypto"),
  "crypto-mb": option("FILE"),
  "trusted-proxy": option("CIDR"),
  "client-cert-from": option("CIDR"),
  "admin-port": option("N"),
  "tls-port": option("N"),
  "tls-cert": option("FILE"),
  "tls-key": option("FILE"),
  ...byArg,
} as const satisfies Args;

/** A level of the log, from which on it is written. */
type LogLevel = "debug" | "info" | "warning";

/** The least severe of what is logged. Who tries a sandbox at a terminal is to see where to begin, and no log. */
export function logLevelOf({ sandbox }: Pick<Config, "sandbox">, { TVS_LOG_LEVEL }: Environment): LogLevel {
  if (TVS_LOG_LEVEL === "debug") return "debug";
  return sandbox && process.stderr.isTTY === true ? "warning" : "info";
}
