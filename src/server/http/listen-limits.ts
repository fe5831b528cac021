/** What one client may cost. Every queue and every wait of the listener has a bound here. */
export interface ListenLimits {
  /** A request's head, from its first byte (or from the connection's start) to the empty line. */
  headersTimeoutMs: number;
  /** A whole request, head and body. */
  requestTimeoutMs: number;
  /** What was written of an answer may wait this long for the client to take it. */
  responseTimeoutMs: number;
  /** A connection without a request. Longer than the 60 s after which common load balancers let go. */
  keepAliveTimeoutMs: number;
  /** A TLS handshake. */
  handshakeTimeoutMs: number;
  /** The head of one request; more is 431. */
  maxHeaderBytes: number;
  /** Connections on each listener; more are closed at once. */
  maxConnections: number;
  /** How long `close` waits for what is in flight. */
  drainTimeoutMs: number;
}

export const DEFAULT_LIMITS: Readonly<ListenLimits> = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  responseTimeoutMs: 60_000,
  keepAliveTimeoutMs: 65_000,
  handshakeTimeoutMs: 10_000,
  maxHeaderBytes: 16 * 1024,
  maxConnections: 10_000,
  drainTimeoutMs: 9_000,
};

/** How often deadlines are looked at: often enough for the shortest of them, never more than once a second. */
export function sweepIntervalMs(limits: ListenLimits): number {
  const shortestMs = Math.min(
    limits.headersTimeoutMs,
    limits.requestTimeoutMs,
    limits.responseTimeoutMs,
    limits.keepAliveTimeoutMs,
  );
  return Math.max(10, Math.min(1000, Math.floor(shortestMs / 4)));
}
