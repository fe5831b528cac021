/** The verdict on an envelope, by the partner library that `tvs verify` uses as well. */

import { type EnvelopeItem, readEnvelopes } from "../../../partner/input.ts";
import type { KeySet } from "../../../partner/key-set.ts";
import type { RefusalReason } from "../../../partner/reasons.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../partner/strict-json.ts";
import { unopened, type Verification } from "../../../partner/verification.ts";
import { verifyEnvelope } from "../../../partner/verify-envelope.ts";
import type { Given } from "./files.ts";

/** Either may be empty: then it is not compared. */
type Expected = { readonly issuer: string; readonly audience: string };

export type Judged = {
  readonly name: string | null;
  readonly verification: Verification;
  /** What the reader did not say, and what the signature therefore was not compared with. */
  readonly notCompared: readonly (keyof Expected)[];
  /** The envelope around the signature; null for a bare signature. */
  readonly envelope: JsonObject | null;
  readonly jws: string | null;
};

/** No service can have this address, because no header or claim may hold it. */
const nobody = "\u0000";

const mismatches: Readonly<Record<keyof Expected, RefusalReason>> = {
  issuer: "ISSUER_MISMATCH",
  audience: "AUDIENCE_MISMATCH",
};

/**
 * The library insists on an issuer and a partner, rightly: a program must name them. A person may leave one out;
 * then what is signed is taken for what is expected, and the page says that it was not compared.
 */
async function verifyLeniently(value: JsonValue, expected: Expected, keys: KeySet) {
  const used = { issuer: expected.issuer || nobody, audience: expected.audience || nobody };
  const notCompared: (keyof Expected)[] = [];
  let verification = await verifyEnvelope(value, { ...used, keys });
  for (const member of ["issuer", "audience"] as const) {
    const signed = verification[member];
    if (expected[member] !== "" || verification.reason !== mismatches[member] || signed === null) continue;
    used[member] = signed;
    notCompared.push(member);
    verification = await verifyEnvelope(value, { ...used, keys });
  }
  return { verification, notCompared };
}

function signatureOf(value: JsonValue): Pick<Judged, "envelope" | "jws"> {
  const envelope = isJsonObject(value) ? value : null;
  const signature = envelope === null ? value : envelope.signature;
  return { envelope, jws: typeof signature === "string" ? signature : null };
}

async function judgeItem(
  item: EnvelopeItem,
  expected: Expected,
  keys: KeySet,
): Promise<Omit<Judged, "name">> {
  if ("refusal" in item) {
    return { verification: unopened(item.refusal), notCompared: [], envelope: null, jws: null };
  }
  return { ...(await verifyLeniently(item.value, expected, keys)), ...signatureOf(item.value) };
}

/** White space around a pasted signature came with the pasting; inside it, it is refused. */
function withoutMargins(content: Given["content"]): Given["content"] {
  return typeof content === "string" ? content.trim() : content;
}

/**
 * Judges every envelope of a text.
 *
 * @param given the text
 * @param expected who must have signed for whom
 * @param keys the key set
 * @returns the verdicts in order, lazily; nothing when the text holds no envelope
 */
export async function* judge(given: Given, expected: Expected, keys: KeySet): AsyncGenerator<Judged> {
  for (const item of readEnvelopes(withoutMargins(given.content))) {
    yield { name: given.name, ...(await judgeItem(item, expected, keys)) };
  }
}
