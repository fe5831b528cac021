/** Small PNG pictures, and damaged ones that must be refused. */

import { crc32, deflateSync } from "node:zlib";

function chunk(name: string, content: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(name, "latin1"), content]);
  const [length, crc] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  crc.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, crc]);
}

const nothing = Buffer.alloc(0);

/** Makes chunks: a header with width and height, pixels in RGB with alpha, and the end. */
function chunksOf(width: number, height: number) {
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 6, 0, 0, 0]);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  const pixels = deflateSync(Buffer.alloc(height * (1 + width * 4)), { level: 9 });
  return { IHDR: chunk("IHDR", header), IDAT: chunk("IDAT", pixels), IEND: chunk("IEND", nothing) };
}

function pngOf(...chunks: readonly Uint8Array[]): Buffer {
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), ...chunks]);
}

/** @param more the names of empty chunks between the pixels and the end */
export function makePng(width = 3, height = 3, more: readonly string[] = []): Buffer {
  const { IHDR, IDAT, IEND } = chunksOf(width, height);
  return pngOf(IHDR, IDAT, ...more.map((name) => chunk(name, nothing)), IEND);
}

/** Damaged pictures, by their damage. */
export function damagedPngs(): Readonly<Record<string, Buffer>> {
  const { IHDR, IDAT, IEND } = chunksOf(3, 3);
  const wrongSum = makePng();
  wrongSum.writeUInt8(wrongSum.readUInt8(20) ^ 1, 20);
  return {
    "it ends early": makePng().subarray(0, 40),
    "it ends after a chunk": pngOf(IHDR, IDAT),
    "it has only the signature": pngOf(),
    "a check sum is wrong": wrongSum,
    "its header is not the first": pngOf(IDAT, IHDR, IEND),
    "its header has another length": pngOf(chunk("IHDR", nothing), IDAT, IEND),
    "it has two headers": pngOf(IHDR, IHDR, IDAT, IEND),
    "it has no pixels": pngOf(IHDR, IEND),
    "it has no width": makePng(0, 3),
    "its pixels are not compressed": pngOf(IHDR, chunk("IDAT", Buffer.alloc(39)), IEND),
    "its pixels are more than its header says": pngOf(IHDR, chunksOf(200, 200).IDAT, IEND),
    "it has two ends": pngOf(IHDR, IDAT, IEND, IEND),
    "it goes on behind its end": Buffer.concat([makePng(), Buffer.from("<script>")]),
  };
}
