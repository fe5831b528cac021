/** A client that writes any bytes and sees how the server ends the connection. */
import { connect as connectPlain, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import type { TestCertificate } from "./certificates.ts";
import { until, withTimeout } from "./eventually.ts";

export type RawClient = ReturnType<typeof watch>;

interface RawClientOptions {
  port: number;
  /** The source IP address (default 127.0.0.1). */
  localAddress?: string;
  /** The source port (default: any free port). */
  localPort?: number;
  tls?: boolean;
  certificate?: TestCertificate;
  session?: Buffer;
  tlsVersion?: "TLSv1.2" | "TLSv1.3";
}

/** Connects, with TLS if `tls` is set. Resolves when requests can be written. */
export async function openClient(options: RawClientOptions): Promise<RawClient> {
  const { port, localAddress, localPort } = options;
  const from = { ...(localAddress ? { localAddress } : {}), ...(localPort ? { localPort } : {}) };
  const plain = connectPlain({ port, host: "127.0.0.1", ...from });
  const socket = options.tls ? connectTls({ ...tlsOptions(options), socket: plain }) : plain;
  const client = watch(socket);
  await new Promise<void>((resolve, reject) => {
    socket.once(options.tls ? "secureConnect" : "connect", () => resolve());
    socket.once("close", () => reject(new Error("closed before it was open")));
  });
  return client;
}

function tlsOptions(options: RawClientOptions) {
  return {
    rejectUnauthorized: false,
    ...(options.certificate ? { cert: options.certificate.certPem, key: options.certificate.keyPem } : {}),
    ...(options.session ? { session: options.session } : {}),
    ...(options.tlsVersion ? { minVersion: options.tlsVersion, maxVersion: options.tlsVersion } : {}),
  };
}

function watch(socket: Socket | TLSSocket) {
  let received = "";
  socket.on("data", (chunk) => {
    received += chunk.toString("latin1");
  });
  // If the server resets the connection, the socket emits an error. That is a way of closing.
  socket.on("error", () => {});
  const ended = new Promise<string>((resolve) => socket.once("close", () => resolve(received)));
  const closed = withTimeout(ended, () => `still open and received ${JSON.stringify(received)}`);
  return {
    socket,
    /** Resolves with all received text when the server has closed or reset the connection. */
    closed,
    write: (text: string | Uint8Array) => void socket.write(text),
    /** Writes one byte every few milliseconds until the connection ends. */
    drip: () => {
      const timer = setInterval(() => socket.writable && socket.write("x"), 5);
      void ended.then(() => clearInterval(timer));
    },
    /** Resolves with all received text once it contains `text`. Rejects if the connection ends before. */
    async receives(text: string): Promise<string> {
      await until(() => received.includes(text) || socket.destroyed);
      if (received.includes(text)) return received;
      throw new Error(`closed after ${JSON.stringify(received)}`);
    },
  };
}

export function rawGet(path: string, ...headers: string[]): string {
  return `GET ${path} HTTP/1.1\r\nHost: test\r\n${headers.map((line) => `${line}\r\n`).join("")}\r\n`;
}
