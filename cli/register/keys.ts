import { isoTime } from "../../src/domain/clock.ts";
import {
  describeSigningKey,
  importSigningKey,
  jwksOf,
  keyRingOf,
  markKeyCompromised,
  signKeyHistory,
} from "../../src/domain/keys.ts";
import { readRotatableKeys, rotateSigningKeys } from "../../src/domain/rotation.ts";
import { deriveSecrets, generateMasterKey } from "../../src/domain/secrets.ts";
import { byName, configOf, makeGroup, operand, option, toggle } from "../command.ts";
import { logWriterOf } from "../evidence/open-evidence.ts";
import { type Stores, withRegister } from "../open.ts";
import { defineRegisterCommand, defineTvsCommand } from "../operator-command.ts";
import { readSmallFile } from "../safe/input-file.ts";
import { requireConfirmation, yesArg } from "../terminal/confirm.ts";
import {
  formatMembers,
  hint,
  parseCount,
  parseTime,
  printList,
  printNote,
  printResult,
  type TableColumns,
} from "../terminal/output.ts";
import { actorArg } from "./operator-name.ts";

const bitsArg = {
  bits: { ...option("2048|3072|4096", "Size of the new key (default 2048)", parseCount), default: "2048" },
} as const;

async function describeKeys({ keys, changes }: Stores) {
  const actors = await changes.lastActors("key");
  return (await keys.list()).map((key) => ({ ...describeSigningKey(key), by: actors.get(key.kid) ?? null }));
}

const keyColumns: TableColumns<Awaited<ReturnType<typeof describeKeys>>[number]> = {
  KID: "kid",
  STATE: "state",
  PUBLISHED: "publishedAt",
  ACTIVATED: "activatedAt",
  RETIRED: "retiredAt",
  "COMPROMISED SINCE": "compromisedSince",
  BY: "by",
};

const listCommand = defineRegisterCommand("keys list", {
  async act(operator, args) {
    printList(args, await describeKeys(operator), keyColumns);
  },
});

const rotateCommand = defineRegisterCommand("keys rotate", {
  args: { now: toggle(), ...bitsArg, ...yesArg, ...actorArg },
  async act(operator, args) {
    const { keys, secrets, clock } = operator;
    const options = { immediately: args.now === true, now: clock.now() };
    const { active, pending } = await readRotatableKeys(keys, options);
    const loss = `${active.kid} stops signing and its private half is destroyed`;
    await requireConfirmation(args, `${loss}; ${pending.kid} signs from now on. This cannot be undone.`);
    await logWriterOf(operator).checkpoint();
    const { early, ...kids } = await rotateSigningKeys(keys, secrets, { ...options, bits: args.bits });
    const refused = "partners that cache the key set may refuse its envelopes until they fetch it again";
    if (early) printNote(`warning: the new key has been public for less than 24 h; ${refused}`);
    const { activeKid: now, previousKid: retired, pendingKid } = kids;
    printResult(args, kids, () => formatMembers({ active: now, retired, pending: pendingKid }));
    const publish = "for offline verification publish the new tvs keys history > key-history.jose";
    hint(args, `a running service signs with it within a second; ${publish}`);
  },
});

const compromiseCommand = defineRegisterCommand("keys compromise", {
  args: {
    kid: {
      ...operand(),
      values: { ids: async ({ keys }) => (await keys.list()).map((key) => [key.kid, key.state]) },
    },
    since: { ...option("TIME", parseTime), required: true },
    ...bitsArg,
    ...yesArg,
    ...actorArg,
  },
  async act(operator, args) {
    const { keys, secrets, clock } = operator;
    const { kid, since, bits } = args;
    const from = isoTime(since);
    const loss = `Every envelope that ${kid} signed from ${from} on will be refused by every verifier, for ever`;
    await requireConfirmation(args, `${loss}, and its private half is destroyed. This cannot be undone.`);
    // A failed checkpoint does not stop the command: a stolen key must be marked even if the log is faulty.
    await logWriterOf(operator)
      .checkpoint()
      .catch(({ message }: Error) =>
        printNote(`warning: the evidence log could not be signed for before the change: ${message}`),
      );
    await markKeyCompromised(keys, secrets, { kid, since, bits, now: clock.now() });
    printList(args, await describeKeys(operator), keyColumns);
    const list = `tvs attestations list --since ${from} --limit 100000 shows what was signed from then on`;
    hint(args, `tell the partners; ${list}`);
  },
});

const jwksCommand = defineRegisterCommand("keys jwks", {
  async act({ keys }, args) {
    const document = jwksOf(keyRingOf(await keys.list()));
    printResult(args, document, () => JSON.stringify(document, null, 2));
  },
});

const historyCommand = defineRegisterCommand("keys history", {
  async act({ keys, secrets, clock, settingsInForce: { issuer }, hasSetIssuer }, args) {
    if (!hasSetIssuer)
      hint(args, `the issuer in this history, ${issuer}, was never set; set it with tvs serve --issuer`);
    const options = { issuer, secrets, now: clock.now() };
    const keyHistory = await signKeyHistory(keyRingOf(await keys.list()), options);
    printResult(args, { keyHistory }, () => keyHistory);
  },
});

const importCommand = defineTvsCommand("keys import", {
  args: { file: operand(), ...yesArg, ...actorArg },
  async run({ args }) {
    const pem = readSmallFile(args.file).toString("utf8");
    // Checks the key with throw-away secrets, to refuse an invalid key before the register is opened.
    await importSigningKey(pem, deriveSecrets(generateMasterKey()), 0);
    await withRegister(configOf(args), async ({ keys, secrets, clock }) => {
      const next = await importSigningKey(pem, secrets, clock.now());
      const { pending } = keyRingOf(await keys.list());
      const lost = `The pending key ${pending.kid} is retired unused and its private half destroyed. This cannot be undone.`;
      await requireConfirmation(args, lost);
      await keys.replacePending({ pending: pending.kid, next, at: clock.now() });
      printResult(args, describeSigningKey(next), () => `pending ${next.kid}`);
      hint(args, "once it has been public for 24 h, tvs keys rotate makes it the active key");
    });
  },
});

export const keysCommand = makeGroup(
  "Manage the signing keys",
  byName(listCommand, rotateCommand, compromiseCommand, jwksCommand, historyCommand, importCommand),
);
