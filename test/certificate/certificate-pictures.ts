/** Pictures of certificates as they come in: sheets of codes, straight and askew, and codes inside of PDF. */

import { deflateSync } from "node:zlib";
import { encodeQR } from "qr";
import type { Pixels } from "../../src/certificate/pixels.ts";
import { tagOf } from "../../src/partner/envelope-codes.ts";

const scale = 4;
const gap = 24;

/** The codes of certificates that were printed when codes were no links yet, and smaller. */
export async function earlierCodesOf(head: "TVS1" | "TVP1", text: string): Promise<string[]> {
  const parts = text.match(/.{1,430}/g) ?? [];
  const tag = await tagOf(text);
  return parts.map((part, index) => `${head}:${index + 1}/${parts.length}:${tag}:${part}`);
}

/** A white sheet with the codes in rows of three. */
export function sheetOf(codes: readonly string[]): Pixels {
  const squares = codes.map((code) => encodeQR(code, "raw", { ecc: "medium", encoding: "byte", border: 4 }));
  const cell = Math.max(...squares.map((square) => square.length)) * scale + gap;
  const columns = Math.min(3, codes.length);
  const width = cell * columns + gap;
  const height = cell * Math.ceil(codes.length / columns) + gap;
  const data = new Uint8ClampedArray(width * height * 4).fill(255);
  for (const [index, square] of squares.entries()) {
    const left = gap + cell * (index % columns);
    const top = gap + cell * Math.floor(index / columns);
    for (let y = 0; y < square.length * scale; y++) {
      for (let x = 0; x < square.length * scale; x++) {
        if (!square[Math.floor(y / scale)]?.[Math.floor(x / scale)]) continue;
        const at = ((top + y) * width + left + x) * 4;
        data.fill(0, at, at + 3);
      }
    }
  }
  return { width, height, data };
}

/** The same picture, turned by a few degrees, on a grey table. */
export function turned({ width, height, data }: Pixels, degrees: number): Pixels {
  const [sin, cos] = [Math.sin((degrees * Math.PI) / 180), Math.cos((degrees * Math.PI) / 180)];
  const size = Math.ceil(Math.hypot(width, height));
  const canvas = new Uint8ClampedArray(size * size * 4).fill(150);
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      const [dx, dy] = [x - size / 2, y - size / 2];
      const fromX = Math.round(dx * cos + dy * sin + width / 2);
      const fromY = Math.round(dy * cos - dx * sin + height / 2);
      if (fromX < 0 || fromY < 0 || fromX >= width || fromY >= height) continue;
      const from = (fromY * width + fromX) * 4;
      canvas.set(data.subarray(from, from + 4), (y * size + x) * 4);
    }
  }
  return { width: size, height: size, data: canvas };
}

type Stored = {
  readonly filter: string;
  readonly colors: string;
  readonly bits: number;
  readonly body: Uint8Array;
};

/** One bit a pixel, as a browser stores a black-and-white picture. */
export function storedBits({ width, height, data }: Pixels): Stored {
  const bytesPerRow = (width + 7) >> 3;
  const bits = new Uint8Array(bytesPerRow * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const place = y * bytesPerRow + (x >> 3);
      if ((data[(y * width + x) * 4] ?? 0) > 127) bits[place] = (bits[place] ?? 0) | (128 >> (x & 7));
    }
  }
  return { filter: "FlateDecode", colors: "DeviceGray", bits: 1, body: deflateSync(bits) };
}

/** A PDF of one page for each picture. */
export function pdfOf(pictures: readonly (Stored & { width: number; height: number })[]): Uint8Array {
  const pageOf = (index: number) => 3 + index * 3;
  const kids = pictures.map((_, index) => `${pageOf(index)} 0 R`).join(" ");
  const objects: Uint8Array[] = [
    Buffer.from("<< /Type /Catalog /Pages 2 0 R >>"),
    Buffer.from(`<< /Type /Pages /Kids [${kids}] /Count ${pictures.length} >>`),
  ];
  for (const [index, { width, height, filter, colors, bits, body }] of pictures.entries()) {
    const number = pageOf(index);
    const drawing = `q ${width} 0 0 ${height} 0 0 cm /Im Do Q`;
    const resources = `<< /XObject << /Im ${number + 2} 0 R >> >>`;
    const image = `<< /Type /XObject /Subtype /Image /Width ${width} /Height ${height} /ColorSpace /${colors} /BitsPerComponent ${bits} /Filter /${filter} /Length ${body.length} >>\nstream\n`;
    objects.push(
      Buffer.from(
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${width} ${height}] /Resources ${resources} /Contents ${number + 1} 0 R >>`,
      ),
      Buffer.from(`<< /Length ${drawing.length} >>\nstream\n${drawing}\nendstream`),
      Buffer.concat([Buffer.from(image), body, Buffer.from("\nendstream")]),
    );
  }
  return assemblePdf(objects);
}

export function assemblePdf(objects: readonly Uint8Array[]): Uint8Array {
  const parts: Uint8Array[] = [Buffer.from("%PDF-1.7\n")];
  const offsets: number[] = [];
  let length = 9;
  const add = (part: Uint8Array) => {
    parts.push(part);
    length += part.length;
  };
  for (const [index, object] of objects.entries()) {
    offsets.push(length);
    add(Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), object, Buffer.from("\nendobj\n")]));
  }
  const table = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  const start = length;
  add(Buffer.from(`xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}`));
  add(Buffer.from(`trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`));
  return Buffer.concat(parts);
}
