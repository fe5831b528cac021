/** Judges the envelopes of `tvs verify` in batches, with the fastest RS256 that the runtime has. */

import { createPublicKey, type KeyObject, verify } from "node:crypto";
import process from "node:process";
import type { EnvelopeItem, Place } from "../src/partner/input.ts";
import { refuse } from "../src/partner/reasons.ts";
import type { RsaPublicJwk } from "../src/partner/rsa-key.ts";
import { unopened, type Verification } from "../src/partner/verification.ts";
import { type VerifyOptions, verifyEnvelope } from "../src/partner/verify-envelope.ts";
import { type Bytes, readSource, type Source } from "./verify-files.ts";
import type { Location } from "./verify-print.ts";

/** Receives each verdict, in the order of the input. */
export type Print = (verification: Verification, location: Location) => void;

const batchSize = 64;
const nowhere: Place = { line: null, index: null };

/** Key objects by vetted key: making one costs more than a verification. */
const keyObjects = new WeakMap<RsaPublicJwk, KeyObject>();

function keyObjectOf(jwk: RsaPublicJwk): KeyObject {
  let key = keyObjects.get(jwk);
  if (key === undefined) {
    key = createPublicKey({ key: { kty: "RSA", n: jwk.n, e: jwk.e }, format: "jwk" });
    keyObjects.set(jwk, key);
  }
  return key;
}

/** With a callback the work runs on the runtime's thread pool, beside the parsing of the next envelopes. */
function verifyWithNode(
  _kid: string,
  jwk: RsaPublicJwk,
  signingInput: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    verify("sha256", signingInput, keyObjectOf(jwk), signature, (error, isGood) =>
      error === null ? resolve(isGood) : reject(error),
    );
  });
}

/** Deno's WebCrypto is faster than its `node:crypto`; on Bun it is the other way round. */
export const fastVerifier = process.versions.bun === undefined ? {} : { verifySignature: verifyWithNode };

async function judge(item: EnvelopeItem, options: VerifyOptions): Promise<Verification> {
  return "refusal" in item ? unopened(item.refusal) : verifyEnvelope(item.value, options);
}

/** Envelopes whose signatures are being checked. */
type Batch = { readonly places: Place[]; readonly verdicts: Promise<Verification[]> };

function startBatch(items: EnvelopeItem[], options: VerifyOptions): Batch {
  const verdicts = Promise.all(items.map((item) => judge(item, options)));
  return { places: items.map(({ place }) => place), verdicts };
}

/** Cuts the candidates of a file into batches, so that memory stays bounded however many there are. */
async function* readBatches(chunks: Bytes): AsyncGenerator<EnvelopeItem[]> {
  for await (const block of readSource(chunks)) {
    let batch: EnvelopeItem[] = [];
    for (const item of block) {
      batch.push(item);
      if (batch.length === batchSize) {
        yield batch;
        batch = [];
      }
    }
    if (batch.length > 0) yield batch;
  }
}

/** Judges one file in order; while one batch is on the thread pool, the next one is read. */
async function judgeChunks(file: string, chunks: Bytes, options: VerifyOptions, print: Print): Promise<void> {
  let earlier: Batch | null = null;
  const finish = async ({ places, verdicts }: Batch) => {
    for (const [index, verdict] of (await verdicts).entries())
      print(verdict, { file, place: places[index] ?? nowhere });
  };
  try {
    for await (const items of readBatches(chunks)) {
      const batch = startBatch(items, options);
      if (earlier !== null) await finish(earlier);
      earlier = batch;
    }
    if (earlier === null) print(unopened(refuse("NO_ENVELOPE")), { file, place: nowhere });
  } finally {
    // Also when the stream breaks off: what was read until then is judged.
    if (earlier !== null) await finish(earlier);
  }
}

/**
 * Judges one file, folder entry or stream.
 *
 * @param source what to read, or the reason why it cannot be read
 * @param options the key set and what is expected
 * @param print receives at least one verdict
 */
export async function judgeSource(source: Source, options: VerifyOptions, print: Print): Promise<void> {
  const location = { file: source.file, place: nowhere };
  if ("reason" in source) return print(unopened(refuse(source.reason)), location);
  try {
    await judgeChunks(source.file, source.chunks, options, print);
  } catch (error) {
    if (!isReadError(error)) throw error;
    print(unopened(refuse("FILE_UNREADABLE")), location);
  }
}

/** The file system's errors carry a code; anything else is a fault of this program and must show. */
function isReadError(error: unknown): boolean {
  return error instanceof Error && "code" in error && typeof error.code === "string";
}
