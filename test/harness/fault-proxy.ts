/** A TCP proxy with faults that the test chooses: connections are cut, silent, slow, or end within a reply. */
import { connect, createServer, type Socket } from "node:net";
import { listen } from "./endpoint.ts";
import { sleep } from "./eventually.ts";

/** Which replies are cut off, and after how many bytes. `of` selects them by their request (default: all). */
type LostReply = { readonly afterBytes: number; of?(request: string): boolean };

export type FaultProxy = Awaited<ReturnType<typeof startFaultProxy>>;

type Link = {
  isCut: boolean;
  delayMs: number;
  loss: LostReply | null;
  /** Pending while the link is silent. */
  open: Promise<void>;
};

type Pair = { readonly near: Socket; readonly far: Socket; request: string; replied: number };

/** Starts a proxy. @param target an `http` URL on the loopback interface */
export async function startFaultProxy(target: string) {
  const link: Link = { isCut: false, delayMs: 0, loss: null, open: Promise.resolve() };
  const pairs = new Set<Pair>();
  let release = () => {};
  const server = createServer((near) => {
    near.on("error", () => {});
    if (link.isCut) near.resetAndDestroy();
    else join(near, { target: Number(new URL(target).port), link, pairs });
  });
  /** Ends the fault. What a silent link has held back is passed on, as TCP would send it again. */
  const heal = () => {
    Object.assign(link, { isCut: false, delayMs: 0, loss: null });
    release();
  };
  /** Resets every open connection, and each new one. */
  const cut = () => {
    link.isCut = true;
    for (const pair of pairs) reset(pair);
    release();
  };
  return {
    url: await listen(server),
    heal,
    cut,
    /** Accepts connections and bytes, and passes nothing on until `heal` is called. */
    silence() {
      heal();
      link.open = new Promise((done) => {
        release = done;
      });
    },
    /** Delays everything by `ms`, in both directions. */
    delay(ms: number) {
      heal();
      link.delayMs = ms;
    },
    /** Passes requests on and cuts the replies off: the target has executed a request, but the client cannot know. */
    loseReplies(loss: LostReply) {
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

/** Closes the connection to the target after the reply: a request that was sent is executed in any case. */
function endWhenReplied({ far, request, replied }: Pair): void {
  if (request === "" || replied > 0) far.end();
  else far.once("data", () => far.end());
}

function reset({ near, far }: Pair): void {
  near.resetAndDestroy();
  far.resetAndDestroy();
}

/** One direction of a connection. `onBytes` returns what is passed on of the bytes; null: nothing. */
type Way = {
  readonly from: Socket;
  readonly to: Socket;
  onBytes(bytes: Buffer): Buffer | null;
  onEnd(): void;
};

/** Passes bytes on in their order, as soon as the link allows it. */
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

/** Passes bytes of a reply on. @returns null if the reply is cut off within these bytes */
function passReply(pair: Pair, { bytes, loss }: { bytes: Buffer; loss: LostReply | null }): Buffer | null {
  const isLost = loss !== null && (loss.of?.(pair.request) ?? true);
  const left = isLost ? loss.afterBytes - pair.replied : Number.POSITIVE_INFINITY;
  pair.replied += bytes.length;
  if (left >= bytes.length) return bytes;
  if (left > 0) pair.near.write(bytes.subarray(0, left), () => reset(pair));
  else reset(pair);
  return null;
}
