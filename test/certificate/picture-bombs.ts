/** Small files that unpack to gigabytes, or keep a decoder busy for minutes: made when a test needs them. */

import { crc32, deflateSync } from "node:zlib";
import { assemblePdf } from "./certificate-pictures.ts";

function chunk(name: string, content: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(name, "latin1"), content]);
  const [length, crc] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  crc.writeUInt32BE(crc32(body) >>> 0);
  return Buffer.concat([length, body, crc]);
}

/** Grey, eight bits a pixel. */
function header(width: number, height: number, isInterlaced = false): Buffer {
  const content = Buffer.alloc(13);
  content.writeUInt32BE(width, 0);
  content.writeUInt32BE(height, 4);
  content[8] = 8;
  content[12] = isInterlaced ? 1 : 0;
  return chunk("IHDR", content);
}

function pngOfChunks(...chunks: readonly Uint8Array[]): Buffer {
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, ...chunks, chunk("IEND", Buffer.alloc(0))]);
}

function deflatedZeros(bytes: number): Buffer {
  return deflateSync(Buffer.alloc(bytes), { level: 9 });
}

/** 92 bytes: one pixel to who reads the first header, 900 million to who reads the last. */
export function pngWithTwoHeaders(): Buffer {
  const data = chunk("IDAT", deflateSync(Buffer.alloc(2)));
  return pngOfChunks(header(1, 1), header(30_000, 30_000), data);
}

type Body = { readonly entries: string; readonly content: Uint8Array };

function stream({ entries, content }: Body): Buffer {
  const head = Buffer.from(`<< ${entries} /Length ${content.length} >>\nstream\n`);
  return Buffer.concat([head, content, Buffer.from("\nendstream")]);
}

/** One page, its drawing, and pictures named /Im0, /Im1, … */
function pdfPage(drawing: Body, pictures: readonly Body[]): Uint8Array {
  const names = pictures.map((_, index) => `/Im${index} ${index + 5} 0 R`).join(" ");
  return assemblePdf([
    Buffer.from("<< /Type /Catalog /Pages 2 0 R >>"),
    Buffer.from("<< /Type /Pages /Kids [3 0 R] /Count 1 >>"),
    Buffer.from(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 600] /Resources << /XObject << ${names} >> >> /Contents 4 0 R >>`,
    ),
    stream(drawing),
    ...pictures.map(stream),
  ]);
}

/** Black, one bit a pixel. */
function blankPicture(side: number): Body {
  const entries = `/Type /XObject /Subtype /Image /Width ${side} /Height ${side} /ColorSpace /DeviceGray /BitsPerComponent 1 /Filter /FlateDecode`;
  return { entries, content: deflatedZeros(Math.ceil(side / 8) * side) };
}

function draw(index: number): string {
  return `q 600 0 0 600 0 0 cm /Im${index} Do Q\n`;
}

/** One picture of 40 million pixels, drawn again and again. */
export function pdfDrawnOften(times: number, side = 6300): Uint8Array {
  return pdfPage({ entries: "", content: Buffer.from(draw(0).repeat(times)) }, [blankPicture(side)]);
}

/** So many pictures on one page. */
export function pdfOfPictures(count: number, side = 6300): Uint8Array {
  const all = Array.from({ length: count }, (_, index) => index);
  const content = Buffer.from(all.map(draw).join(""));
  return pdfPage(
    { entries: "", content },
    all.map(() => blankPicture(side)),
  );
}
