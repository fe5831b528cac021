/** The QR codes of pictures. The reader finds one code at a time, so each one found is painted over. */

import decodeQR, { type FinderPoints, type Point } from "qr/decode.js";
import { joinCodes } from "../partner/envelope-codes.ts";
import { cropped, halved, maxSide, type Pixels, shrunk } from "./pixels.ts";

/** A certificate has at most 99 codes; a picture of a wallpaper of codes must come to an end as well. */
const maxCodes = 120;
/** Patterns in text and wood that pass for a corner of a code: so many are painted over, one after another. */
const maxMisses = 4;
/** Slow machines must see what fast ones see, so the reader's time (a camera's frame) is not what ends its search. */
const options = { effort: 4, timeLimit: 2_000 };

/** The parts that are looked at by themselves when the whole gave too little: each is half as wide and as high. */
const windowSteps = [0, 0.25, 0.5];

type Canvas = Pixels & { readonly data: Uint8ClampedArray };

/** Paints a quadrangle grey: white or black would make new edges. */
function paintOver(canvas: Canvas, corners: readonly Point[]): void {
  const rows = corners.map(({ y }) => y);
  const first = Math.max(0, Math.floor(Math.min(...rows)));
  const last = Math.min(canvas.height - 1, Math.ceil(Math.max(...rows)));
  for (let y = first; y <= last; y++) {
    const columns = crossings(corners, y);
    const from = Math.max(0, Math.floor(Math.min(...columns)));
    const to = Math.min(canvas.width, Math.ceil(Math.max(...columns)));
    if (from < to) canvas.data.fill(128, (y * canvas.width + from) * 4, (y * canvas.width + to) * 4);
  }
}

/** Where a row meets the sides of a polygon. */
function crossings(corners: readonly Point[], y: number): number[] {
  return corners.flatMap((start, index) => {
    const end = corners[(index + 1) % corners.length] ?? start;
    if (start.y === end.y) return start.y === y ? [start.x, end.x] : [];
    const share = (y - start.y) / (end.y - start.y);
    return share >= 0 && share <= 1 ? [start.x + share * (end.x - start.x)] : [];
  });
}

/** One code, and where it or what looked like it lies; nothing when there is nothing left that looks like one. */
function readOne(canvas: Canvas): { text: string | null; points: FinderPoints } | null {
  let points: FinderPoints | null = null;
  let text: string | null = null;
  const pointsOnDetect = (found: FinderPoints) => {
    points = found;
  };
  try {
    text = decodeQR(canvas, { ...options, pointsOnDetect });
  } catch {
    // The reader throws for every picture without a code.
  }
  return points === null ? null : { text, points };
}

function readAll(pixels: Pixels, found: Set<string>): void {
  const canvas: Canvas = { ...pixels, data: new Uint8ClampedArray(pixels.data) };
  for (let misses = 0, turn = 0; misses < maxMisses && turn < maxCodes; turn++) {
    const one = readOne(canvas);
    if (one === null) return;
    const { text, points } = one;
    if (text === null) {
      misses++;
      for (const finder of [points.tl, points.tr, points.bl]) paintOver(canvas, finder.corners);
    } else {
      found.add(text);
      paintOver(canvas, points.outline);
    }
  }
}

/** The picture as it is, half as large (which takes away noise and blur), and in overlapping parts. */
function* views(pixels: Pixels): Generator<Pixels> {
  const whole = shrunk(pixels, maxSide);
  yield whole;
  const [width, height] = [whole.width >> 1, whole.height >> 1];
  if (Math.min(width, height) < 100) return;
  yield halved(whole);
  for (const down of windowSteps) {
    for (const across of windowSteps) {
      const at = { x: Math.floor(whole.width * across), y: Math.floor(whole.height * down), width, height };
      yield cropped(whole, at);
    }
  }
}

/**
 * Reads every QR code of a picture.
 *
 * @param pixels the picture
 * @param isEnough told of all that was found so far; while it says no, the picture is looked at in further ways
 * @returns the texts of the codes, each once
 */
async function scanCodes(pixels: Pixels, isEnough: (found: readonly string[]) => Promise<boolean>) {
  const found = new Set<string>();
  for (const view of views(pixels)) {
    readAll(view, found);
    if (await isEnough([...found])) break;
  }
  return [...found];
}

/**
 * A reader of the codes of one certificate, which may lie in several files. The codes of a proof lie on a sheet of
 * their own, so every picture of a file is looked at, though only once when all that was found is whole.
 *
 * @returns looks at the pictures of one more file, as many as it takes, and gives the texts of all codes so far
 */
export function createCodeReader(): (pictures: AsyncIterable<Pixels>) => Promise<readonly string[]> {
  const texts = new Set<string>();
  return async (pictures) => {
    const own = new Set<string>();
    const isEnough = async (found: readonly string[]) => {
      // Each file was given for something that it holds, also when the envelope is whole without it.
      if (own.size + found.length === 0) return false;
      const reading = await joinCodes([...texts, ...own, ...found]);
      return !("problem" in reading) && reading.jws !== null;
    };
    for await (const pixels of pictures) {
      for (const text of await scanCodes(pixels, isEnough)) own.add(text);
    }
    for (const text of own) texts.add(text);
    return [...texts];
  };
}
