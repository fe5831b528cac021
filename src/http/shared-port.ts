/**
 * A port that several threads listen on, among which the kernel shares the connections out (SO_REUSEPORT).
 *
 * Every thread's socket has to ask for it, the first one too. The kernel then lets in any further socket of the same
 * user that asks likewise, another program's as well: so the first one binds without it before, and learns whether
 * somebody is there.
 */
import { createServer, type ListenOptions, type Server } from "node:net";

/** How a listener comes by its port: alone, or as the first or a further one of the threads that share it. */
export type Sharing = "alone" | "first" | "further";

/** Systems that spread the connections over the sockets; others give them all to one, or know nothing of it. */
export const canSharePorts = process.platform === "linux";

type ServeFunction = (options: object, ...rest: unknown[]) => unknown;
const runtime = globalThis as { Bun?: { serve: ServeFunction } };

/**
 * Listens.
 * @throws what the server's `error` event tells, such as EADDRINUSE
 */
export async function listenOn(
  server: Server,
  at: { readonly host: string; readonly port: number },
  sharing: Sharing,
): Promise<void> {
  if (sharing === "alone") return opened(server, at);
  if (sharing === "first" && at.port !== 0) await requireFree(at);
  await withReusePort(() => opened(server, { ...at, reusePort: true }));
}

/** @throws EADDRINUSE where somebody listens, whether or not they would share */
async function requireFree(at: { host: string; port: number }): Promise<void> {
  const probe = createServer();
  await opened(probe, at);
  await new Promise<void>((resolve) => probe.close(() => resolve()));
}

function opened(server: Server, options: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(options, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/**
 * Bun's node:http knows nothing of `reusePort`, but it opens its socket by `Bun.serve`, which does, and at once, within
 * `listen`: for that one call it is given the option. Its node:tls and Deno's servers take the option themselves.
 */
function withReusePort<T>(listen: () => T): T {
  const { Bun } = runtime;
  if (Bun === undefined) return listen();
  const { serve } = Bun;
  Bun.serve = (options, ...rest) => serve.call(Bun, { ...options, reusePort: true }, ...rest);
  try {
    return listen();
  } finally {
    Bun.serve = serve;
  }
}
