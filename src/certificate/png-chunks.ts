/** Walks through a PNG (ISO/IEC 15948) without unpacking it, to know what decoding it would take. */

/** What the one header of a PNG says, and the data that belong to it, still packed. */
export type PngHeader = {
  readonly pixels: number;
  readonly isInterlaced: boolean;
  /** The most that the data can unpack to when they are those of such a picture. */
  readonly unpackedBytes: number;
  readonly data: Uint8Array;
};

const signatureBytes = 8;
/** Length, name and check sum. */
const frameBytes = 12;
/** Samples a pixel by the colour type; the other types do not exist. */
const samples: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

type Chunk = { readonly name: string; readonly content: Uint8Array };

/** The chunks up to the last one that is whole; whatever follows the end chunk is no part of the picture. */
function* chunksOf(bytes: Uint8Array): Generator<Chunk> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = signatureBytes; at + frameBytes <= bytes.length; ) {
    const length = view.getUint32(at);
    if (at + frameBytes + length > bytes.length) return;
    const name = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
    yield { name, content: bytes.subarray(at + 8, at + 8 + length) };
    if (name === "IEND") return;
    at += frameBytes + length;
  }
}

function concatenated(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * Reads the header of a PNG. One with two headers is none: decoders differ in which of them they believe.
 *
 * @param bytes the file
 * @returns null when it is no PNG with exactly one header, and that in the first place
 */
export function readPngHeader(bytes: Uint8Array): PngHeader | null {
  const chunks = [...chunksOf(bytes)];
  const headers = chunks.filter(({ name }) => name === "IHDR");
  const [header] = headers;
  if (header === undefined || headers.length > 1 || chunks[0] !== header || header.content.length !== 13)
    return null;
  const { content } = header;
  const view = new DataView(content.buffer, content.byteOffset, content.byteLength);
  const [width, height, bits, colors] = [view.getUint32(0), view.getUint32(4), content[8], content[9]];
  const bytesPerRow = Math.ceil((width * (bits ?? 0) * (samples[colors ?? 0] ?? 0)) / 8);
  // Interlaced, it has less than twice as many rows, each with a filter and perhaps a begun byte of its own.
  const unpackedBytes = (bytesPerRow + 4) * height + 32;
  const data = concatenated(chunks.filter(({ name }) => name === "IDAT").map((chunk) => chunk.content));
  return { pixels: width * height, isInterlaced: content[12] === 1, unpackedBytes, data };
}
