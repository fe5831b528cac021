import { TvsError } from "../domain/errors.ts";

/** Why the listener could not start. */
type ListenErrorReason =
  | "PORT_IN_USE"
  | "PORT_FORBIDDEN"
  | "HOST_UNAVAILABLE"
  | "TLS_INVALID"
  | "LISTEN_FAILED";

/** A listener that could not start; the message names the address and what to do. */
export class ListenError extends TvsError {
  readonly reason: ListenErrorReason;

  constructor(reason: ListenErrorReason, message: string, cause?: unknown) {
    super("REFUSED", message, { cause });
    this.name = "ListenError";
    this.reason = reason;
  }
}

/** Translates what the runtime reports for `host:port`. Bun, Deno and Node differ in texts, hardly in codes. */
export function toListenError(error: unknown, at: { host: string; port: number }): ListenError {
  if (error instanceof ListenError) return error;
  const where = formatAddress(at);
  switch ((error as { code?: unknown } | null)?.code) {
    case "EADDRINUSE":
      return new ListenError(
        "PORT_IN_USE",
        `${where} is in use: stop the program that listens there, or choose another port (0 picks a free one)`,
        error,
      );
    case "EACCES":
    case "EPERM":
      return new ListenError(
        "PORT_FORBIDDEN",
        `${where} may not be opened by this user: choose a port from 1024 up, or grant the right to open it`,
        error,
      );
    case "EADDRNOTAVAIL":
    case "EAFNOSUPPORT":
    // Deno reports an address of another machine as EINVAL.
    case "EINVAL":
      return hostUnavailable(at, error);
    default:
      return new ListenError("LISTEN_FAILED", `${where} could not be opened: ${messageOf(error)}`, error);
  }
}

/** The host has no address, or none of this machine. */
export function hostUnavailable(at: { host: string; port: number }, cause?: unknown): ListenError {
  const text = `${formatAddress(at)} is no IP address of this machine: use 127.0.0.1, 0.0.0.0 or one of its own addresses`;
  return new ListenError("HOST_UNAVAILABLE", text, cause);
}

/** `host:port` as it stands in a URL, an IPv6 address in brackets. */
export function formatAddress(at: { host: string; port: number }): string {
  return at.host.includes(":") ? `[${at.host}]:${at.port}` : `${at.host}:${at.port}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
