/** A TCP proxy whose link fails as the test says: cut, silent, slow, or gone in the middle of a reply. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { sleep } from "./eventually.ts";

/** How a reply is lost: after so many of its bytes, of those requests alone that `of` takes; of all without it. */
type LostReply = { readonly afterBytes: number; of?(request: string): boolean };

export type FaultProxy = {
  /** The address that leads to the target, with the scheme `http`. */
  readonly url: string;
  /** Everything passes again. What a silent link has held back arrives now, as TCP would send it again. */
  heal(): void;
  /** Resets every open connection, and each new one. */
  cut(): void;
  /** Takes connections and bytes, and passes nothing on until it is healed. */
  silence(): void;
  /** Passes everything on so many milliseconds later, in either direction. */
  delay(ms: number): void;
  /** Passes requests on, and resets the connection in the reply: what was asked for is done, and nobody hears. */
  loseReplies(loss: LostReply): void;
  close(): Promise<void>;
};

type Link = {
  isCut: boolean;
  delayMs: number;
  loss: LostReply | null;
  /** Settled while the link passes anything. */
  open: Promise<void>;
};

type Pair = { readonly near: Socket; readonly far: Socket; request: string; replied: number };

/** Listens before the `http` address of a target on the loopback interface. */
export async function startFaultProxy(target: string): Promise<FaultProxy> {
  const link: Link = { isCut: false, delayMs: 0, loss: null, open: Promise.resolve() };
  const pairs = new Set<Pair>();
  let release = () => {};
  const server = createServer((near) => {
    near.on("error", () => {});
    if (link.isCut) near.resetAndDestroy();
    else join(near, { target: Number(new URL(target).port), link, pairs });
  });
  const heal = () => {
    Object.assign(link, { isCut: false, delayMs: 0, loss: null });
    release();
  };
  const cut = () => {
    link.isCut = true;
    for (const pair of pairs) reset(pair);
    release();
  };
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    heal,
    cut,
    silence() {
      heal();
      link.open = new Promise((done) => {
        release = done;
      });
    },
    delay(ms) {
      heal();
      link.delayMs = ms;
    },
    loseReplies(loss) {
      heal();
      link.loss = loss;
    },
    async close() {
      cut();
      await new Promise((done) => server.close(done));
    },
  };
}

function join(near: Socket, { target, link, pairs }: { target: number; link: Link; pairs: Set<Pair> }): void {
  const far = connect({ port: target, host: "127.0.0.1" });
  const pair: Pair = { near, far, request: "", replied: 0 };
  pairs.add(pair);
  near.setNoDelay(true);
  far.setNoDelay(true);
  far.on("error", () => {});
  far.on("close", () => pairs.delete(pair));
  pass(link, {
    ...{ from: near, to: far, onBytes: (bytes) => readRequest(pair, bytes) },
    onEnd: () => endWhenReplied(pair),
  });
  pass(link, {
    ...{ from: far, to: near, onBytes: (bytes) => passReply(pair, { bytes, loss: link.loss }) },
    onEnd: () => near.end(),
  });
}

/** A request whose client has given up is done all the same: nobody takes back what is on its way. */
function endWhenReplied({ far, request, replied }: Pair): void {
  if (request === "" || replied > 0) far.end();
  else far.once("data", () => far.end());
}

function reset({ near, far }: Pair): void {
  near.resetAndDestroy();
  far.resetAndDestroy();
}

/** One way through a connection: `onBytes` says what part of what came goes on. */
type Way = {
  readonly from: Socket;
  readonly to: Socket;
  onBytes(bytes: Buffer): Buffer | null;
  onEnd(): void;
};

/** Passes on what comes, in its order, when the link lets it. */
function pass(link: Link, { from, to, onBytes, onEnd }: Way): void {
  let before = Promise.resolve();
  const afterwards = (act: () => void) => {
    const due = performance.now() + link.delayMs;
    before = before.then(async () => {
      await link.open;
      const waitMs = due - performance.now();
      if (waitMs > 0) await sleep(waitMs);
      if (!to.destroyed) act();
    });
  };
  from.on("data", (bytes) =>
    afterwards(() => {
      const passed = onBytes(bytes);
      if (passed !== null) to.write(passed);
    }),
  );
  from.on("close", () => afterwards(onEnd));
}

function readRequest(pair: Pair, bytes: Buffer): Buffer {
  if (pair.replied > 0) Object.assign(pair, { request: "", replied: 0 });
  pair.request += bytes.toString("latin1");
  return bytes;
}

/** @returns null when the connection was reset here, before the first byte or within these */
function passReply(pair: Pair, { bytes, loss }: { bytes: Buffer; loss: LostReply | null }): Buffer | null {
  const isLost = loss !== null && (loss.of?.(pair.request) ?? true);
  const left = isLost ? loss.afterBytes - pair.replied : Number.POSITIVE_INFINITY;
  pair.replied += bytes.length;
  if (left >= bytes.length) return bytes;
  if (left > 0) pair.near.write(bytes.subarray(0, left), () => reset(pair));
  else reset(pair);
  return null;
}
