/** Requests and answers as the listeners make them: what waits of them in memory is counted, and has a bound. */
import { IncomingMessage, type RequestListener, type ServerOptions, ServerResponse } from "node:http";
import { maxBodyBytes } from "./http-call.ts";

/** Of a body that nobody reads yet; no body that anything here takes is as long. */
const maxUnreadBytes = 2 * maxBodyBytes;

/**
 * A request. Over TLS neither Bun nor Deno stops reading a body that nobody takes, so a stranger's could fill the
 * memory while the answers before it wait: its connection is closed.
 */
class BoundedRequest extends IncomingMessage {
  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    if (this.readableLength <= maxUnreadBytes) return super.push(chunk, encoding);
    this.socket.destroy();
    return false;
  }
}

/** An answer that tells how many bytes it was given that the client may not have taken yet. */
export class CountedResponse<
  Request extends IncomingMessage = IncomingMessage,
> extends ServerResponse<Request> {
  /** Told of bytes that wait from now on, or, when it is negative, do not any more. What is left is so at `close`. */
  onWaiting: (bytes: number) => void = ignore;
  #unsentBytes = 0;
  #isDraining = false;

  override write(...args: unknown[]): boolean {
    const isTaken: boolean = Reflect.apply(super.write, this, args);
    if (!isTaken) {
      this.#wait(args[0]);
      if (!this.#isDraining) this.on("drain", () => this.#drained());
      this.#isDraining = true;
    }
    return isTaken;
  }

  override end(...args: unknown[]): this {
    this.#wait(args[0]);
    return Reflect.apply(super.end, this, args);
  }

  #wait(chunk: unknown): void {
    if (typeof chunk !== "string" && !(chunk instanceof Uint8Array)) return;
    this.#unsentBytes += chunk.length;
    this.onWaiting(chunk.length);
  }

  #drained(): void {
    this.onWaiting(-this.#unsentBytes);
    this.#unsentBytes = 0;
  }
}

function ignore(): void {}

/** What has a server make its messages so. */
export const boundedMessages = { IncomingMessage: BoundedRequest, ServerResponse: CountedResponse };

export type BoundedServerOptions = ServerOptions<typeof BoundedRequest, typeof CountedResponse>;

export type BoundedListener = RequestListener<typeof BoundedRequest, typeof CountedResponse>;
