/** Time-stamps over a checkpoint: what an authority is asked, and what its answer must hold to (RFC 3161; decision D13.8). */

import { createHash, randomBytes } from "node:crypto";
import { fromBER, Integer } from "asn1js";
import { MessageImprint, PKIStatus, TimeStampReq, TimeStampResp } from "pkijs";
import { TvsError } from "../errors.ts";
import { checkSigner, readToken, type Signer } from "./time-stamp-signature.ts";

const sha256 = "2.16.840.1.101.3.4.2.1";
/** What each status that is no time-stamp says (RFC 3161, 2.4.2). */
const refusals: Readonly<Record<number, string>> = {
  [PKIStatus.rejection]: "rejected",
  [PKIStatus.waiting]: "waiting",
  [PKIStatus.revocationWarning]: "revocation warning",
  [PKIStatus.revocationNotification]: "revoked",
};
/** The most of an authority's own words that is repeated. */
const maxWords = 200;
/** How far the authority's time may be from ours: beyond it one of the two clocks is wrong, and the stamp worth nothing. */
const maxClockDifferenceMs = 300_000;

/** A question to an authority. */
export type TimeStampRequest = {
  /** What is sent, as DER. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** What the answer must repeat, so that no older answer can stand in for it. */
  readonly nonce: Buffer;
};

/** What an authority's answer says, and who signed it. */
export type TimeStamp = Signer & {
  /** The authority's time, ms since the epoch. */
  readonly time: number;
  /** The number that the authority gave it, in hex. */
  readonly serial: string;
  /** The authority's policy, an object identifier. */
  readonly policy: string;
};

export type TimeStampExpectations = {
  /** The bytes that were time-stamped. */
  readonly content: Uint8Array;
  /** What was asked just now; absent for an answer that was kept, which was checked against it when it came. */
  readonly asked?: { readonly nonce: Buffer; readonly policy?: string | undefined; readonly now: number };
  /** The authorities that the caller trusts, as PEM; absent when the certificate is to be checked against nothing. */
  readonly trust?: string | undefined;
};

/** Asks for a time-stamp over SHA-256 of `content`, with the signer's certificate in the answer. */
export async function createTimeStampRequest(
  content: Uint8Array,
  policy?: string,
): Promise<TimeStampRequest> {
  // Neither a leading zero nor a sign: an INTEGER in its one DER form.
  const nonce = randomBytes(16);
  nonce[0] = ((nonce[0] ?? 0) & 0x3f) | 0x40;
  const request = new TimeStampReq({
    version: 1,
    messageImprint: await MessageImprint.create("SHA-256", new Uint8Array(content)),
    nonce: new Integer({ valueHex: new Uint8Array(nonce).buffer }),
    certReq: true,
    ...(policy === undefined ? {} : { reqPolicy: policy }),
  });
  return { bytes: new Uint8Array(request.toSchema().toBER()), nonce };
}

/**
 * Checks an authority's whole answer: that it grants, for these bytes and this question, and who signed it.
 * @param answer a TimeStampResp as DER
 * @throws TvsError INPUT_UNREADABLE for what is none, REFUSED for one that does not hold
 */
export async function checkTimeStamp(
  answer: Uint8Array,
  { content, asked, trust }: TimeStampExpectations,
): Promise<TimeStamp> {
  const { status, timeStampToken } = readAnswer(answer);
  const said = (status.statusStrings ?? []).map(({ valueBlock }) => valueBlock.value).join("; ");
  if (status.status !== PKIStatus.granted && status.status !== PKIStatus.grantedWithMods) {
    const words = said === "" ? "" : `: ${said.slice(0, maxWords)}`;
    throw refusal(`refused (${refusals[status.status] ?? `status ${status.status}`})${words}`);
  }
  if (timeStampToken === undefined) throw refusal("granted a time-stamp and sent none");
  const token = readToken(timeStampToken);
  const { info } = token;
  const { hashAlgorithm, hashedMessage } = info.messageImprint;
  const hash = createHash("sha256").update(content).digest();
  if (hashAlgorithm.algorithmId !== sha256 || !hash.equals(hashedMessage.valueBlock.valueHexView))
    throw refusal("time-stamped something else than this checkpoint");
  const signer = await checkSigner(token, content, trust);
  const time = info.genTime.getTime();
  const stamp = {
    time,
    serial: Buffer.from(info.serialNumber.valueBlock.valueHexView).toString("hex"),
    policy: info.policy,
    ...signer,
  };
  if (asked === undefined) return stamp;
  if (info.nonce === undefined || !asked.nonce.equals(info.nonce.valueBlock.valueHexView))
    throw refusal("did not repeat the number that was sent: this may be the answer to another question");
  if (asked.policy !== undefined && info.policy !== asked.policy)
    throw refusal(`time-stamped under the policy ${info.policy}, not ${asked.policy}`);
  if (Math.abs(time - asked.now) > maxClockDifferenceMs) {
    const when = info.genTime.toISOString();
    throw refusal(`says that it is ${when}, more than five minutes from this machine's clock`);
  }
  return stamp;
}

/** @throws TvsError INPUT_UNREADABLE */
function readAnswer(answer: Uint8Array): TimeStampResp {
  try {
    const bytes = new Uint8Array(answer);
    const { offset, result } = fromBER(bytes);
    if (offset !== bytes.length) throw new Error("bytes are left, or are missing");
    return new TimeStampResp({ schema: result });
  } catch (cause) {
    throw new TvsError(
      "INPUT_UNREADABLE",
      "what came is not an answer of a time-stamp authority (RFC 3161)",
      {
        cause,
      },
    );
  }
}

function refusal(problem: string): TvsError {
  return new TvsError("REFUSED", `the time-stamp authority ${problem}`);
}
