/** One address that leads to several nodes. It knows connections only. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** What callers connect to in place of a node. */
export type Front = {
  readonly url: string;
  /** Empty without a TLS port. */
  readonly tlsUrl: string;
  stop(): Promise<void>;
};

/** Deals connections to the nodes in turn, byte for byte: nothing of HTTP or TLS is changed by it. */
export async function startBalancer(nodes: readonly Pick<Front, "url" | "tlsUrl">[]): Promise<Front> {
  const plain = await deal(nodes.map(({ url }) => portOf(url)));
  const secure = nodes[0]?.tlsUrl === "" ? null : await deal(nodes.map(({ tlsUrl }) => portOf(tlsUrl)));
  return {
    url: `http://127.0.0.1:${plain.port}`,
    tlsUrl: secure === null ? "" : `https://127.0.0.1:${secure.port}`,
    async stop() {
      await Promise.all([plain.stop(), secure?.stop()]);
    },
  };
}

const portOf = (url: string) => Number(new URL(url).port);

async function deal(ports: readonly number[]) {
  const sockets = new Set<Socket>();
  let dealt = 0;
  const server = createServer({ allowHalfOpen: true }, (caller) => {
    const port = ports[dealt++ % ports.length] ?? 0;
    const node = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    for (const [one, other] of [
      [caller, node],
      [node, caller],
    ] as const) {
      sockets.add(one);
      one.setNoDelay(true);
      one.pipe(other);
      // A reset, or a node that is not there, is passed on as a closed connection.
      one.once("error", () => other.destroy());
      one.once("close", () => {
        sockets.delete(one);
        other.destroySoon();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
