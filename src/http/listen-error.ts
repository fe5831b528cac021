/** Why a listener could not start: a refusal (REFUSED) whose message names the address and what to do. */

import { isTvsError, TvsError } from "../domain/errors.ts";

/** Translates what the runtime reports for `host:port`. Bun, Deno and Node differ in texts, hardly in codes. */
export function toListenError(error: unknown, at: { host: string; port: number }): TvsError {
  if (isTvsError(error)) return error;
  const refused = (problem: string) =>
    new TvsError("REFUSED", `${formatAddress(at)} ${problem}`, { cause: error });
  switch ((error as { code?: unknown } | null)?.code) {
    case "EADDRINUSE":
      return refused(
        "is in use: stop the program that listens there, or choose another port (0 picks a free one)",
      );
    case "EACCES":
    case "EPERM":
      return refused(
        "may not be opened by this user: choose a port from 1024 up, or grant the right to open it",
      );
    case "EADDRNOTAVAIL":
    case "EAFNOSUPPORT":
    // Deno reports an address of another machine as EINVAL.
    case "EINVAL":
      return hostUnavailable(at, error);
    default:
      return refused(`could not be opened: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** The host has no address, or none of this machine. */
export function hostUnavailable(at: { host: string; port: number }, cause?: unknown): TvsError {
  const text = `${formatAddress(at)} is no IP address of this machine: use 127.0.0.1, 0.0.0.0 or one of its own addresses`;
  return new TvsError("REFUSED", text, { cause });
}

/** `host:port` as it stands in a URL, an IPv6 address in brackets. */
export function formatAddress(at: { host: string; port: number }): string {
  return at.host.includes(":") ? `[${at.host}]:${at.port}` : `${at.host}:${at.port}`;
}
