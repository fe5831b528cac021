/** A serving thread as far as signing goes: a worker that signs what it is asked, beside others on one board. */
import { isMainThread, parentPort, workerData } from "node:worker_threads";
import { openSigner } from "../../src/signing/signer.ts";
import { aRing, type KeyName } from "../harness/keys.ts";
import { secrets } from "../harness/samples.ts";

export type ThreadData = {
  readonly boards: SharedArrayBuffer;
  readonly thread: number;
  readonly ring: readonly [KeyName, KeyName];
};
/** A call that the thread signs, or, with a ring, the keys that it is to load. */
export type Order =
  | { readonly id: number; readonly kid: string; readonly inputs: readonly string[]; readonly bulk: boolean }
  | { readonly ring: readonly [KeyName, KeyName] };
export type Reply =
  | { readonly id: number; readonly signatures: readonly string[] }
  | { readonly id: number; readonly code: string }
  | "ready"
  | "loaded";

if (!isMainThread && parentPort !== null) {
  const port = parentPort;
  const { boards, thread, ring } = workerData as ThreadData;
  const say = (reply: Reply) => port.postMessage(reply);
  const signer = await openSigner({ secrets, engine: "openssl", shared: { boards, thread } });
  await signer.load(await aRing(...ring));
  port.on("message", async (order: Order) => {
    if ("ring" in order) {
      await signer.load(await aRing(...order.ring));
      return say("loaded");
    }
    const { id, kid, inputs, bulk } = order;
    await signer.sign(kid, inputs, { bulk }).then(
      (signatures) => say({ id, signatures }),
      (error) => say({ id, code: error.code ?? String(error) }),
    );
  });
  say("ready");
}
