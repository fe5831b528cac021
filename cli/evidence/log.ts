import { Buffer } from "node:buffer";
import { isoTime } from "../../src/domain/clock.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { treeHeadOf } from "../../src/domain/evidence/chain.ts";
import { verifierKeyOf } from "../../src/domain/evidence/epochs.ts";
import { group } from "../command.ts";
import { operatorCommand } from "../operator-command.ts";
import { hint, print } from "../terminal/output.ts";
import { checkpointOfAll, noLog } from "./open-evidence.ts";

const checkpointCommand = operatorCommand({
  description: "Print the newest checkpoint, which covers every attestation so far; it is signed if need be",
  example: "tvs log checkpoint\n  tvs log checkpoint > checkpoint.txt   # to hand out or to keep elsewhere",
  async act(operator, args) {
    const { evidence } = operator;
    if ((await evidence.epochs()).length === 0) throw noLog();
    const newest = await checkpointOfAll(operator);
    if (newest === null)
      throw new TvsError("NOT_KNOWN", "the evidence log is empty: nothing was attested yet");
    const { epoch, signedAt, note } = newest;
    const { origin, size, root } = treeHeadOf(note);
    const described = { origin, epoch, size, root: Buffer.from(root).toString("base64") };
    print(args, { ...described, signedAt: isoTime(signedAt), note }, () => note);
  },
});

const keyCommand = operatorCommand({
  description:
    "Print the keys by which others verify the log's checkpoints, that of the newest epoch first: one is never changed",
  example: "tvs log key > log.key   # for everybody who verifies",
  async act({ evidence }, args) {
    const epochs = (await evidence.epochs()).reverse();
    if (epochs.length === 0) throw noLog();
    const described = await Promise.all(
      epochs.map(async (one) => {
        const { epoch, origin, openedAt, reason, previous } = one;
        return {
          origin,
          epoch,
          key: await verifierKeyOf(one),
          openedAt: isoTime(openedAt),
          reason,
          previous,
        };
      }),
    );
    print(args, described, () => described.map(({ key }) => key).join("\n"));
    hint(args, "hand these to the partners by another way than the envelopes");
  },
});

export const logCommand = group("The evidence log: its checkpoints and keys, and whether it is whole", {
  checkpoint: async () => checkpointCommand,
  key: async () => keyCommand,
  audit: () => import("./audit.ts").then((file) => file.auditCommand),
  anchor: () => import("./anchor.ts").then((file) => file.logAnchorCommand),
  witness: () => import("./witness.ts").then((file) => file.logWitnessCommand),
  epoch: async () => (await import("./epoch.ts")).epochCommand,
});
