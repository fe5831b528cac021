/** PNG files (ISO/IEC 15948): their size, to know what decoding one would take before it is unpacked. */

const signatureBytes = 8;
/** Length, name and check sum. */
const frameBytes = 12;

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

/**
 * How many pixels a PNG has, by its header. One with two headers is none: decoders differ in which of them they believe.
 *
 * @param bytes the file
 * @returns null when it is no PNG with exactly one header, and that in the first place
 */
export function countPngPixels(bytes: Uint8Array): number | null {
  const chunks = [...chunksOf(bytes)];
  const headers = chunks.filter(({ name }) => name === "IHDR");
  const [header] = headers;
  if (header === undefined || headers.length > 1 || chunks[0] !== header || header.content.length !== 13)
    return null;
  const { content } = header;
  const view = new DataView(content.buffer, content.byteOffset, content.byteLength);
  return view.getUint32(0) * view.getUint32(4);
}
