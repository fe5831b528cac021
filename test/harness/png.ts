/** Small PNG pictures, and damaged ones that must be refused. */

import { crc32, deflateSync } from "node:zlib";

type Header = {
  readonly width: number;
  readonly height: number;
  readonly depth?: number;
  readonly color?: number;
};

function chunk(name: string, content: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(name, "latin1"), content]);
  const [length, crc] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  crc.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, crc]);
}

/** Makes the header of a picture. @param color the colour type; 6 is RGB with alpha */
function header({ width, height, depth = 8, color = 6 }: Header, interlace = 0): Buffer {
  const content = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, depth, color, 0, 0, interlace]);
  content.writeUInt32BE(width, 0);
  content.writeUInt32BE(height, 4);
  return chunk("IHDR", content);
}

function pngOf(...chunks: readonly Uint8Array[]): Buffer {
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, ...chunks, chunk("IEND", Buffer.alloc(0))]);
}

const packed = (bytes: number, fill = 0) =>
  chunk("IDAT", deflateSync(Buffer.alloc(bytes, fill), { level: 9 }));

export function makePng(width = 3, height = 3): Buffer {
  return pngOf(header({ width, height }), packed(height * (1 + width * 4)));
}

/** Damaged pictures, by their damage. */
export function damagedPngs(): Readonly<Record<string, Buffer>> {
  const nine = header({ width: 3, height: 3 });
  const whole = 3 * (1 + 3 * 4);
  const wrongSum = makePng();
  wrongSum.writeUInt8(wrongSum.readUInt8(20) ^ 1, 20);
  return {
    "it ends early": makePng().subarray(0, 40),
    "a check sum is wrong": wrongSum,
    "it has two headers": pngOf(
      header({ width: 1, height: 1 }),
      header({ width: 3, height: 3 }),
      packed(whole),
    ),
    "its header is not the first": pngOf(packed(whole), nine),
    "it has a row too few": pngOf(nine, packed(whole - 13)),
    "it has a byte too many": pngOf(nine, packed(whole + 1)),
    "it unpacks to a thousand times its size": pngOf(nine, packed(50_000_000)),
    "its pixels are not packed": pngOf(nine, chunk("IDAT", Buffer.alloc(whole))),
    "it has no pixels": pngOf(nine),
    "a row has a filter that nobody knows": pngOf(nine, packed(whole, 5)),
    "its depth is not one of its colour type": pngOf(
      header({ width: 3, height: 3, depth: 4 }),
      packed(whole),
    ),
    "its palette is missing": pngOf(header({ width: 3, height: 3, color: 3 }), packed(12)),
    "a chunk is critical and unknown": pngOf(nine, chunk("ABCD", Buffer.alloc(0)), packed(whole)),
    "it goes on behind its end": Buffer.concat([makePng(), Buffer.from("<script>")]),
  };
}

/** Valid pictures, as drawing programs save them. */
export function wholePngs(): Readonly<Record<string, Buffer>> {
  const size = { width: 3, height: 3 };
  return {
    "in colour": makePng(),
    "of a bit each pixel": pngOf(header({ ...size, depth: 1, color: 0 }), packed(6)),
    "with a palette": pngOf(
      header({ ...size, depth: 2, color: 3 }),
      chunk("PLTE", Buffer.alloc(12)),
      packed(6),
    ),
    "in pieces, with a comment": pngOf(
      header({ ...size, color: 0 }),
      chunk("tEXt", Buffer.from("a")),
      ...[0, 6].map((at) =>
        chunk("IDAT", deflateSync(Buffer.alloc(12), { level: 9 }).subarray(at, at === 0 ? 6 : 99)),
      ),
    ),
    // Interlacing has seven passes. Of a picture with 3 × 3 pixels five passes have pixels.
    interlaced: pngOf(header({ ...size, depth: 8, color: 0 }, 1), packed(2 + 2 + 3 + 2 * 2 + 4)),
  };
}
