/** Verifies envelopes with the partner library, which `tvs verify` uses too. */

import { formatUnixSeconds } from "../../partner/date-time.ts";
import { type EnvelopeItem, readEnvelopes } from "../../partner/input.ts";
import { isStatement } from "../../partner/jws.ts";
import type { KeySet } from "../../partner/key-set.ts";
import type { LogProof } from "../../partner/log-proof.ts";
import type { RefusalReason } from "../../partner/reasons.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../partner/strict-json.ts";
import type { StatementContent, Verification } from "../../partner/verification.ts";
import { verificationOfRefusal } from "../../partner/verification.ts";
import { type VerifyOptions, verifyEnvelope } from "../../partner/verify-envelope.ts";
import { verifyStatement } from "../../partner/verify-statement.ts";
import type { InputText } from "./files.ts";

/** A genuine statement, which is one signed answer about a list of people. Its rows match the signed root. */
export type GenuineStatement = StatementContent & { readonly rows: NonNullable<StatementContent["rows"]> };

/** The issuer and audience that the user expects. An empty text means that the user named none. */
type Expected = { readonly issuer: string; readonly audience: string };

/** The result of verifying one item of the input: an envelope, a bare signature, or a text that is neither. */
export type CheckedItem = {
  readonly name: string | null;
  readonly verification: Verification;
  /** The content of a genuine statement; null for a statement that is not genuine, and for any other input. */
  readonly statement: GenuineStatement | null;
  /** The members of `Expected` that were not compared, because the user left them empty. */
  readonly notCompared: readonly (keyof Expected)[];
  /** The envelope around the signature; null for a bare signature. */
  readonly envelope: JsonObject | null;
  readonly jws: string | null;
  /** True if the envelope was verified with a proof of the evidence log. */
  readonly hasProof: boolean;
  /** The time of the key's compromise, `YYYY-MM-DDTHH:MM:SSZ`; null if the key is unknown or not compromised. */
  readonly compromisedSince: string | null;
  /** Verifies the same envelope without the proof. */
  withoutProof(): Promise<CheckedItem>;
};

type CheckOptions = {
  readonly expected: Expected;
  readonly keys: KeySet;
  readonly statusLists: readonly string[] | null;
  readonly proof: LogProof | null;
};

/** An issuer and audience that no envelope has. */
const nobody = "\u0000";

const mismatches: Readonly<Record<keyof Expected, RefusalReason>> = {
  issuer: "ISSUER_MISMATCH",
  audience: "AUDIENCE_MISMATCH",
};

/**
 * Verifies an envelope. The library requires an expected issuer and audience. If the user named none, the signed value is
 * expected, and `notCompared` names the member, so that the page does not show the member as compared.
 */
async function verifyLeniently(value: JsonValue, { expected, keys, proof, statusLists }: CheckOptions) {
  const used = { issuer: expected.issuer || nobody, audience: expected.audience || nobody };
  const lists = statusLists === null ? {} : { statusLists };
  const fixed = { keys, ...lists, ...(proof === null ? {} : { proof }) };
  const notCompared: (keyof Expected)[] = [];
  let found = await verify(value, { ...used, ...fixed });
  for (const member of ["issuer", "audience"] as const) {
    const { verification } = found;
    const signed = verification[member];
    if (expected[member] !== "" || verification.reason !== mismatches[member] || signed === null) continue;
    used[member] = signed;
    notCompared.push(member);
    found = await verify(value, { ...used, ...fixed });
  }
  return { ...found, notCompared };
}

async function verify(value: JsonValue, options: VerifyOptions) {
  if (!isStatement(value)) return { verification: await verifyEnvelope(value, options), statement: null };
  const verification = await verifyStatement(value, options);
  const { statement: stated } = verification;
  const rows = stated?.rows ?? null;
  return { verification, statement: stated === null || rows === null ? null : { ...stated, rows } };
}

function signatureOf(value: JsonValue): Pick<CheckedItem, "envelope" | "jws"> {
  const envelope = isJsonObject(value) ? value : null;
  const signature = envelope === null ? value : envelope.signature;
  return { envelope, jws: typeof signature === "string" ? signature : null };
}

function compromisedSince({ keys }: KeySet, kid: string | null): string | null {
  const sinceMs = kid === null ? null : (keys.get(kid)?.window?.compromisedSinceMs ?? null);
  return sinceMs === null ? null : formatUnixSeconds(Math.floor(sinceMs / 1000));
}

async function checkItem(
  item: EnvelopeItem,
  name: string | null,
  options: CheckOptions,
): Promise<CheckedItem> {
  const { proof, keys } = options;
  const shared = {
    ...{ name, hasProof: proof !== null, statement: null, notCompared: [], envelope: null, jws: null },
    compromisedSince: null,
    withoutProof: () => checkItem(item, name, { ...options, proof: null }),
  };
  if ("refusal" in item) return { ...shared, verification: verificationOfRefusal(item.refusal) };
  const found = await verifyLeniently(item.value, options);
  const since = compromisedSince(keys, found.verification.kid);
  return { ...shared, ...found, ...signatureOf(item.value), compromisedSince: since };
}

/** Verifies the envelopes of a text one after another. If the user gave a proof of the log, the proof is verified too. */
export async function* checkEnvelopes(given: InputText, options: CheckOptions): AsyncGenerator<CheckedItem> {
  // White space around a pasted signature comes from copying, so it is removed. White space inside a signature is refused.
  const content = typeof given.content === "string" ? given.content.trim() : given.content;
  for (const item of readEnvelopes(content)) {
    yield checkItem(item, given.name, options);
  }
}
