/** The options of `tvs serve`, besides those that every command has. */

import type { Config, Environment } from "../../src/config.ts";
import { type Args, flag, option } from "../command.ts";
import { byArg } from "../register/operator-name.ts";

/** The option of whatever upgrades a register of an earlier release. */
export const noBackupArg = {
  "no-backup": flag(
    "Make no backup (tvs-before-N.db, beside the database) before a register of an earlier release is upgraded",
  ),
} as const satisfies Args;

export const serveArgs = {
  host: option("ADDRESS", "IP address to listen on (default 127.0.0.1)"),
  port: option("N", "Port; 0 picks a free one (default 8080)"),
  threads: option(
    "N",
    "Threads that answer, each with its own connection to the database (default: one a processor)",
  ),
  spread: option(
    "auto|always",
    "When all threads get connections: auto, while one alone would be busy, or always (default auto)",
  ),
  issuer: option(
    "URL",
    "The service's public URL, the `iss` of every envelope; remembered in the database. Needed unless --host is loopback",
  ),
  "access-log": flag(
    "Keep each call's time, route, status, partner, key and request id, for `tvs calls` (default: what init was told, and on in a sandbox)",
  ),
  "public-per-minute": option(
    "N",
    "Public lookups allowed from one IP address in a minute (default 60), a third of them by NIN, e-mail or phone",
  ),
  "drain-wait": option(
    "TIME",
    "After SIGTERM, go on answering for so long while the health document says 503, so that a proxy sends nothing " +
      "more before the service ends, such as 5s (default 0s, at most 15s)",
  ),
  "time-zone": option(
    "ZONE",
    "Time zone whose midnight ends a licence (default Africa/Lagos); remembered in the database",
  ),
  policy: option("FILE", "Eligibility policy, JSON; remembered in the database"),
  site: option(
    "FILE",
    "Whose service this is, JSON: name, logo, accent, contact, privacyUrl, accessibilityUrl, reportUrl; shown on every " +
      "page; remembered in the database, until `--site none`",
  ),
  "keep-attestations": option(
    "TIME",
    "Delete attestations that are older, such as 7y or 3650d, at least 90d (default forever); remembered in the database",
  ),
  "status-list": option(
    "on|off",
    "Put into each envelope about a teacher where to look later whether it was withdrawn, and serve the signed status " +
      "lists that tell (default: what init was told, and on in a sandbox); remembered in the database",
  ),
  "allow-private-webhooks": flag(
    "Allow webhook endpoints with http or private IP addresses (for tests only); remembered in the database",
  ),
  "signing-engine": option(
    "auto|crypto_mb|openssl|webcrypto",
    "What signs envelopes (default auto: the fastest one that passes its test at start)",
  ),
  "crypto-mb": option("FILE", "Intel's libcrypto_mb.so.11, if it is not where distributions put it"),
  "trusted-proxy": option(
    "CIDR",
    "Proxies whose X-Forwarded-For is trusted; repeat the option or separate them with commas",
  ),
  "client-cert-from": option(
    "CIDR",
    "Proxies whose Client-Cert (RFC 9440) is trusted, for partners that call with a certificate. Each must " +
      "delete the Client-Cert that callers send, or a copied certificate opens the service. Not implied by " +
      "--trusted-proxy; none by default; repeat the option or separate them with commas",
  ),
  "admin-port": option(
    "N",
    "Also serve the operator's console and /metrics here, on 127.0.0.1 only; 0 picks a free port",
  ),
  "tls-port": option("N", "Also serve HTTPS here, asking for client certificates"),
  "tls-cert": option("FILE", "The server's certificate chain, PEM"),
  "tls-key": option("FILE", "The server's private key, PEM"),
  ...noBackupArg,
  ...byArg,
} as const satisfies Args;

/** A level of the log, from which on it is written. */
export type LogLevel = "debug" | "info" | "warning";

/** The least severe of what is logged. Who tries a sandbox at a terminal is to see where to begin, and no log. */
export function logLevelOf({ sandbox }: Pick<Config, "sandbox">, { TVS_LOG_LEVEL }: Environment): LogLevel {
  if (TVS_LOG_LEVEL === "debug") return "debug";
  return sandbox && process.stderr.isTTY === true ? "warning" : "info";
}
