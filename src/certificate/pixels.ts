import { isUtf16 } from "../partner/file-text.ts";

/** An image as the canvas and the decoders give it: four bytes a pixel, red, green, blue, alpha. */
export type Pixels = {
  readonly data: Uint8ClampedArray | Uint8Array;
  readonly width: number;
  readonly height: number;
};

/** A photograph of a good phone has 12 million pixels, a page scanned at 600 dpi 35 million. */
export const maxImagePixels = 40_000_000;
/** The reader of codes has a limit of 4096; beyond 3000 a code that a printer printed gains nothing. */
export const maxSide = 3000;
export const maxFileBytes = 20 * 1024 * 1024;

/** What a file is by its first bytes; its name may say anything. */
type FileKind = "pdf" | "png" | "jpeg" | "image" | "text" | "other";

const signatures: readonly (readonly [FileKind, number, readonly number[]])[] = [
  ["png", 0, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ["jpeg", 0, [0xff, 0xd8, 0xff]],
  ["image", 0, [0x47, 0x49, 0x46, 0x38]],
  ["image", 8, [0x57, 0x45, 0x42, 0x50]],
  ["image", 4, [0x66, 0x74, 0x79, 0x70]],
];

/**
 * @param bytes the file, or its first kilobyte
 * @returns `image` for kinds that only a browser decodes (GIF, WebP, HEIC and AVIF); `text` for UTF-16 and what has no NUL
 */
export function fileKind(bytes: Uint8Array): FileKind {
  const head = bytes.subarray(0, 1024);
  // Some programs put a few bytes before it, which every reader of PDF skips.
  if (new TextDecoder("latin1").decode(head).includes("%PDF-")) return "pdf";
  for (const [kind, offset, signature] of signatures) {
    if (signature.every((byte, index) => head[offset + index] === byte)) return kind;
  }
  return head.includes(0) && !isUtf16(head) ? "other" : "text";
}

/** Halves an image until neither side is longer than `maxSide`; each pixel is the mean of four. */
export function shrunk(pixels: Pixels, maxSide: number): Pixels {
  return Math.max(pixels.width, pixels.height) <= maxSide ? pixels : shrunk(halved(pixels), maxSide);
}

export function halved({ data, width, height }: Pixels): Pixels {
  const half = { width: width >> 1, height: height >> 1 };
  const small = new Uint8ClampedArray(half.width * half.height * 4);
  for (let y = 0; y < half.height; y++) {
    for (let x = 0; x < half.width; x++) {
      const from = (y * 2 * width + x * 2) * 4;
      const to = (y * half.width + x) * 4;
      for (let channel = 0; channel < 4; channel++) {
        const [a, b] = [from + channel, from + channel + width * 4];
        small[to + channel] =
          ((data[a] ?? 0) + (data[a + 4] ?? 0) + (data[b] ?? 0) + (data[b + 4] ?? 0)) >> 2;
      }
    }
  }
  return { ...half, data: small };
}

/** A part of an image, copied. */
export function cropped(pixels: Pixels, at: { x: number; y: number; width: number; height: number }): Pixels {
  const data = new Uint8ClampedArray(at.width * at.height * 4);
  for (let row = 0; row < at.height; row++) {
    const from = ((at.y + row) * pixels.width + at.x) * 4;
    data.set(pixels.data.subarray(from, from + at.width * 4), row * at.width * 4);
  }
  return { width: at.width, height: at.height, data };
}
