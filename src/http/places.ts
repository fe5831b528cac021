/** The places that a listener has for connections, and how many of them one address may take. */
import type { Socket } from "node:net";
import type { Backlog } from "./backlog.ts";
import type { Address, Connection } from "./connection.ts";
import type { ListenLimits } from "./limits.ts";
import { rateLimitKeys } from "./peer.ts";
import { createWarning } from "./warning.ts";

export type Places = ReturnType<typeof createPlaces>;

type PlacesOptions = {
  readonly limits: Pick<ListenLimits, "maxConnections" | "maxConnectionsPerAddress">;
  /** Whether an address is a proxy's, through which many come. */
  readonly isTrusted: (remoteAddress: string) => boolean;
  readonly backlog: Backlog;
};

export function createPlaces({ limits, isTrusted, backlog }: PlacesOptions) {
  const bySocket = new Map<Socket, Connection>();
  const addresses = new Map<string, Address>();
  // It may be a proxy that nobody named.
  const warn = createWarning(
    "one address has all the connections that it may; a proxy is named by --trusted-proxy",
  );

  /** Gives a connection a place. @returns null, and closes it, where there is none or its address has all it may */
  function take(socket: Socket): Connection | null {
    // A peer that resets the connection is no event of ours; "close" follows in any case.
    socket.on("error", ignore);
    const remoteAddress = socket.remoteAddress ?? "";
    const isProxy = isTrusted(remoteAddress);
    // A proxy's are its own: its neighbours in the /64 would have no places left, and seem to crowd.
    const name = isProxy ? remoteAddress : (rateLimitKeys(remoteAddress)[0] ?? "");
    const address = addresses.get(name) ?? { name, connections: 0 };
    const hasAll = address.connections >= limits.maxConnectionsPerAddress && !isProxy;
    if (hasAll) warn({ connections: limits.maxConnectionsPerAddress });
    if (hasAll || !makeRoom()) {
      socket.destroy();
      return null;
    }
    addresses.set(name, address);
    address.connections++;
    const connection = newConnection(socket, address);
    bySocket.set(socket, connection);
    backlog.join(connection);
    socket.once("close", () => leave(connection));
    return connection;
  }

  function leave(connection: Connection): void {
    if (!bySocket.delete(connection.socket)) return;
    const { address, openRequests } = connection;
    address.connections--;
    if (address.connections === 0) addresses.delete(address.name);
    backlog.leave(connection);
    openRequests.clear();
  }

  /** Where all places are taken, closes the connection that was idle the longest of the address that has most. */
  function makeRoom(): boolean {
    if (bySocket.size < limits.maxConnections) return true;
    const chosen = longestIdle(bySocket.values());
    if (chosen !== undefined) close(chosen);
    return chosen !== undefined;
  }

  /** Closes a connection at once. */
  function close(connection: Connection): void {
    leave(connection);
    connection.socket.destroy();
  }

  return {
    take,
    of: (socket: Socket) => bySocket.get(socket),
    close,
    /** From now on another socket stands for a connection. */
    move(from: Socket, to: Socket): void {
      const connection = bySocket.get(from);
      if (connection === undefined || from === to) return;
      bySocket.delete(from);
      bySocket.set(to, connection);
      connection.socket = to;
      to.on("error", ignore);
      to.once("close", () => leave(connection));
    },
    all: () => bySocket.values(),
    /** The share that is taken of all places, or of one address's; 1 for all of them. */
    usedShare(): number {
      const perAddress = [...addresses.values()].map(({ name, connections }) =>
        isTrusted(name) ? 0 : connections / limits.maxConnectionsPerAddress,
      );
      return Math.max(bySocket.size / limits.maxConnections, ...perAddress);
    },
  };
}

function newConnection(socket: Socket, address: Address): Connection {
  const nowMs = performance.now();
  return {
    socket,
    address,
    openRequests: new Set(),
    isShed: false,
    isBroken: false,
    answering: 0,
    isPaused: false,
    heldBytes: 0,
    waiting: 0,
    consumedBytes: 0,
    requestSinceMs: nowMs,
    idleSinceMs: nowMs,
  };
}

function longestIdle(connections: Iterable<Connection>): Connection | undefined {
  let chosen: Connection | undefined;
  for (const connection of connections) {
    if (connection.openRequests.size > 0) continue;
    const more = connection.address.connections - (chosen?.address.connections ?? 0);
    if (more > 0 || (more === 0 && connection.idleSinceMs < (chosen?.idleSinceMs ?? 0))) chosen = connection;
  }
  return chosen;
}

function ignore(): void {}
