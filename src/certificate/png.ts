/**
 * PNG files (ISO/IEC 15948): their size, to know what decoding one would take before it is unpacked, and pictures
 * in black and white, one bit a pixel, which are exact whatever a browser does to its canvas.
 */

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

const crcTable = /* @__PURE__ */ Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

function crcOf(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crcTable[(crc ^ byte) & 255] ?? 0) ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

function chunk(name: string, content: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(content.length + 12);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, content.length);
  bytes.set(new TextEncoder().encode(name), 4);
  bytes.set(content, 8);
  view.setUint32(content.length + 8, crcOf(bytes.subarray(4, content.length + 8)));
  return bytes;
}

function header(width: number, height: number): Uint8Array {
  const bytes = new Uint8Array(13);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  // One bit a pixel; the other members, all zero: grey, deflate, no filter of its own, not interlaced.
  bytes[8] = 1;
  return bytes;
}

/** Rows of bits, each begun by its filter's number, 0. */
function scanlines(modules: readonly (readonly boolean[])[], scale: number): Uint8Array<ArrayBuffer> {
  const size = modules.length * scale;
  const bytesPerRow = 1 + ((size + 7) >> 3);
  const lines = new Uint8Array(bytesPerRow * size);
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      const isDark = modules[Math.floor(y / scale)]?.[Math.floor(x / scale)] === true;
      const place = y * bytesPerRow + 1 + (x >> 3);
      if (!isDark) lines[place] = (lines[place] ?? 0) | (128 >> (x & 7));
    }
  }
  return lines;
}

async function deflated(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * A square picture of black and white squares.
 *
 * @param modules the rows; true is black
 * @param scale how many pixels wide each square is
 * @returns the PNG as a `data:` address
 */
export async function pngAddress(modules: readonly (readonly boolean[])[], scale: number): Promise<string> {
  const size = modules.length * scale;
  const signature = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
  const chunks = [
    signature,
    chunk("IHDR", header(size, size)),
    chunk("IDAT", await deflated(scanlines(modules, scale))),
    chunk("IEND", new Uint8Array()),
  ];
  const characters = chunks.flatMap((bytes) => Array.from(bytes, (byte) => String.fromCharCode(byte)));
  return `data:image/png;base64,${btoa(characters.join(""))}`;
}
