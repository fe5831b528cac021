/** `tvs attestations check`: whether this service attested exactly this. */

import { type AttestationCheck, checkAttestation } from "../../src/domain/attestation-check.ts";
import { describeAttestation } from "../../src/domain/attestations.ts";
import { isoSeconds } from "../../src/domain/clock.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { describeKeptLog, mayBePruned } from "../../src/domain/retention.ts";
import type { EnvelopeItem, Place } from "../../src/partner/input.ts";
import { operand } from "../command.ts";
import { operatorCommand } from "../operator-command.ts";
import { exitCodes, listing, note, print } from "../terminal/output.ts";
import { openSources, readSource } from "../verify/files.ts";
import { keptLogOf } from "./open-evidence.ts";

/** The most envelopes in one check: all verdicts are in memory until they are printed. */
const maxChecked = 200_000;
/** The most rows of a table of verdicts; beyond it, only those that are not attested are shown. */
const maxTableRows = 5_000;

export const checkCommand = operatorCommand({
  description:
    "Check whether this service attested exactly this: an envelope, a statement or a row of one, a bare signature, a batch response, an array or " +
    "NDJSON. --json always prints one array, an element each. Exit 0: all are attested; 1: one is altered or not " +
    "known; 2: not readable",
  example: "tvs attestations check envelope.json\n  tvs attestations check - --json < batch.json",
  args: {
    file: operand("A file, or - for standard input"),
  },
  async act(operator, args) {
    const { attestations } = operator;
    const kept = await keptLogOf(operator);
    const check: Check = (item) => checkAttestation(item, attestations.find, (id) => mayBePruned(kept, id));
    const results = await checkFile(args.file, check);
    print(
      args,
      results.map((one) => describeCheck(one)),
      () => checkTable(results),
    );
    if (results.some(({ reason }) => reason === "NO_LONGER_KEPT"))
      note(`it can no longer be said whether these were attested: ${describeKeptLog(kept)}`);
    process.exitCode = exitCodeOf(results);
  },
});

type Check = (item: EnvelopeItem) => Promise<AttestationCheck>;
type Located = AttestationCheck & { readonly place: Place };

/** @throws TvsError INPUT_UNREADABLE when the input gives nothing to judge */
async function checkFile(file: string, check: Check): Promise<Located[]> {
  const results: Located[] = [];
  for await (const source of openSources([file], process.stdin, [])) {
    for await (const item of readSource(source)) {
      if (results.push({ ...(await check(item)), place: item.place }) > maxChecked)
        throw new TvsError("INPUT_UNREADABLE", `${file} holds more than ${maxChecked} envelopes; split it`);
    }
  }
  const [only] = results;
  if (results.length === 1 && only?.verdict === "undecided" && only.reason !== "NO_LONGER_KEPT") {
    throw new TvsError("INPUT_UNREADABLE", `${file === "-" ? "standard input" : file}: ${only.problem}`);
  }
  return results;
}

function describeCheck({ place, verdict, reason, verificationId, record: kept }: Located) {
  return {
    verificationId,
    attested: verdict === "attested",
    verdict,
    reason,
    ...(place.line === null ? {} : { line: place.line }),
    ...(place.index === null ? {} : { index: place.index }),
    // What was really attested under this id, if anything was.
    record: kept === null ? null : describeAttestation(kept),
  };
}

function checkTable(results: readonly Located[]): string {
  const isLong = results.length > maxTableRows;
  const others = results.filter(({ verdict }) => verdict !== "attested");
  const shown = (isLong ? others : results).slice(0, maxTableRows);
  const rows = listing(shown, {
    VERIFICATION: "verificationId",
    VERDICT: "verdict",
    REASON: "reason",
    "ATTESTED TO": ({ record: kept }) => kept?.partnerId,
    AT: ({ record: kept }) => kept && isoSeconds(kept.issuedAt),
    STATUS: ({ record: kept }) => kept?.status,
  });
  const left = isLong ? `the first ${shown.length} that are not attested; --json prints all\n` : "";
  return `${rows}\n${left}${results.length - others.length} of ${results.length} attested and unaltered`;
}

function exitCodeOf(results: readonly Located[]): number {
  const others = results.filter(({ verdict }) => verdict !== "attested");
  if (others.length === 0) return exitCodes.done;
  return others.every(({ verdict }) => verdict === "undecided") ? exitCodes.undecided : exitCodes.refused;
}
