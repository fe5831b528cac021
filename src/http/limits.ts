/** Limits on what one client may cost. Every queue and every wait of the listener has a bound here. */
export type ListenLimits = {
  /** A request's head, from its first byte (or from the connection's start) to the empty line. */
  readonly headersTimeoutMs: number;
  /** A whole request, head and body. */
  readonly requestTimeoutMs: number;
  /** What was written of an answer may wait this long for the client to take it. */
  readonly responseTimeoutMs: number;
  /** A connection without a request. Longer than the 60 s after which common load balancers let go. */
  readonly keepAliveTimeoutMs: number;
  /** A TLS handshake. */
  readonly handshakeTimeoutMs: number;
  /** The head of one request; more is 431. */
  readonly maxHeaderBytes: number;
  /** Connections on each listener of each thread; for one more, the longest idle one of whoever has most is closed. */
  readonly maxConnections: number;
  /** Those of one address that is no trusted proxy; more are closed at once. */
  readonly maxConnectionsPerAddress: number;
  /** Requests of one connection that are being answered; while there are as many, it is not read. */
  readonly maxOpenRequests: number;
  /**
   * Requests that wait for their turn on all connections of each thread: what one reading brings is handed out at once.
   * One more ends its connection.
   */
  readonly maxWaitingRequests: number;
  /** From so many on that are being answered on a thread, each of its connections has one answered at a time. */
  readonly busyRequests: number;
  /** What requests and answers take in the memory of each thread while clients wait, or do not read. */
  readonly maxHeldBytes: number;
  /** How long `close` waits for what is in flight. */
  readonly drainTimeoutMs: number;
};

export const defaultLimits: ListenLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  responseTimeoutMs: 60_000,
  keepAliveTimeoutMs: 65_000,
  handshakeTimeoutMs: 10_000,
  maxHeaderBytes: 16 * 1024,
  maxConnections: 10_000,
  maxConnectionsPerAddress: 1_000,
  maxOpenRequests: 16,
  maxWaitingRequests: 1_000,
  busyRequests: 1_000,
  maxHeldBytes: 64 * 1024 * 1024,
  drainTimeoutMs: 9_000,
};

/** Less would refuse the answers of a few batches; from nine threads on the process has more than the limit. */
const minHeldBytes = 8 * 1024 * 1024;

/** What is promised of the process, for one of the threads that listen: each keeps its own share. */
export function shareOfThread(threads: number): ListenLimits {
  const { maxConnections, maxConnectionsPerAddress, maxHeldBytes } = defaultLimits;
  return {
    ...defaultLimits,
    maxConnections: Math.ceil(maxConnections / threads),
    maxConnectionsPerAddress: Math.ceil(maxConnectionsPerAddress / threads),
    maxHeldBytes: Math.max(minHeldBytes, Math.ceil(maxHeldBytes / threads)),
  };
}

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
