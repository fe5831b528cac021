/** `tvs roster --statement`: one signed statement of the operator's own over a list (decision D16.4). */

import { v7 as uuidv7 } from "uuid";
import { rosterSchema } from "../../src/api/requests.ts";
import { createConfiguration, type Snapshot, untilStored } from "../../src/domain/configuration.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { privateKeyOf, signingAlgorithm } from "../../src/domain/keys.ts";
import { openWindows } from "../../src/domain/quota-windows.ts";
import { type AskedList, judgeList, sealStatement } from "../../src/domain/statements.ts";
import { check } from "../../src/http/request-body.ts";
import { checkpointOfAll, openLog } from "../evidence/open-evidence.ts";
import type { Operator } from "../open.ts";

/**
 * States what a list comes to, committed as a partner's answer is, but that it costs nothing. Its audience is the issuer.
 * @returns the statement as JSON
 * @throws TvsError USAGE for a list that nobody could ask about, REFUSED where no issuer was ever told, LOG_BEHIND
 */
export async function stateOwnList(operator: Operator, asked: AskedList): Promise<string> {
  requireStateable(asked);
  const { settingsInForce: defaults, issuerTold, keyKind } = operator;
  // A sandbox signs as the address at which it listens.
  if (!issuerTold && keyKind === "live")
    throw new TvsError(
      "REFUSED",
      "no issuer was ever told: start tvs serve --issuer URL once, then try again",
    );
  // A register that has lost what was signed for is not signed upon, as by a service.
  await openLog(operator);
  const configuration = await createConfiguration({ ...operator, defaults });
  const text = await untilStored(configuration, (snapshot) => attempt(operator, asked, snapshot));
  await checkpointOfAll(operator);
  return text;
}

/** The rules of partners' lists. */
function requireStateable({ purpose, list, teachers }: AskedList): void {
  const { name, reference } = list;
  const labels = { name, ...(reference === null ? {} : { reference }) };
  const rows = teachers.map(({ identifier, name: listed }) => ({ ...identifier, name: listed ?? "" }));
  try {
    check(rosterSchema, { purpose, list: labels, teachers: rows });
  } catch (error) {
    if (!(error instanceof TvsError)) throw error;
    const words = error.message.replace("list.name", "--list-name").replace("list.reference", "--reference");
    throw new TvsError("USAGE", words.replace("teachers must", "the list must"));
  }
}

async function attempt(operator: Operator, asked: AskedList, snapshot: Snapshot): Promise<string | null> {
  const { teachers, attestations, secrets, clock, blindIndex, actor: credential } = operator;
  const { issuer, policy } = snapshot.settings;
  const at = Math.floor(clock.now() / 1000);
  const today = snapshot.calendar.dateAt(at * 1000);
  const judged = await judgeList(asked, { teachers, blindIndex, policy, today });
  const { kid } = snapshot.keys.active;
  const making = { issuer, audience: issuer, at, kid, policyVersion: policy.version, credential };
  const key = await privateKeyOf(snapshot.keys.active, secrets);
  const { attestation, answer } = await sealStatement(
    judged,
    { ...making, requestId: uuidv7() },
    async (_kid, inputs) => Promise.all(inputs.map((input) => signature(key, input))),
  );
  const { people, read } = judged;
  const starts = openWindows(clock.now());
  const used = await attestations.record({
    ...{ revision: snapshot.revision, attestations: [attestation], people, read, idempotency: null },
    charge: { partnerId: issuer, starts, calls: 0, limits: { minute: 0, day: 0 } },
  });
  return used === null ? null : answer.body;
}

async function signature(key: CryptoKey, input: string): Promise<string> {
  const bytes = await crypto.subtle.sign(signingAlgorithm.name, key, Buffer.from(input));
  return Buffer.from(bytes).toString("base64url");
}
