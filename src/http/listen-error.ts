/** Makes the errors of a port that cannot be opened: REFUSED, with a message that names host, port and remedy. */

import { isTvsError, TvsError } from "../domain/errors.ts";

/** Translates the runtime's error by its code: the messages of Bun, Deno and Node differ, their codes hardly do. */
export function toListenError(error: unknown, at: { host: string; port: number }): TvsError {
  if (isTvsError(error)) return error;
  const refused = (problem: string) =>
    new TvsError("REFUSED", `${formatHostPort(at)} ${problem}`, { cause: error });
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
    // Deno's code for an IP address that this machine does not have.
    case "EINVAL":
      return hostUnavailableError(at, error);
    default:
      return refused(`could not be opened: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Makes the error if `host` has no IP address, or none of this machine. */
export function hostUnavailableError(at: { host: string; port: number }, cause?: unknown): TvsError {
  const text = `${formatHostPort(at)} is no IP address of this machine: use 127.0.0.1, 0.0.0.0 or one of its own addresses`;
  return new TvsError("REFUSED", text, { cause });
}

/** Writes `host:port` as in a URL, with brackets around an IPv6 address. */
export function formatHostPort(at: { host: string; port: number }): string {
  return at.host.includes(":") ? `[${at.host}]:${at.port}` : `${at.host}:${at.port}`;
}
