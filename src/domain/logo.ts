/** The picture beside a site's name, checked before it is kept (decision D8.4). */

import { Buffer } from "node:buffer";
import { PNG } from "pngjs";
import type { Logo } from "./site.ts";

const maxLogoBytes = 64 * 1024;
/** Sixteen times what any screen shows of it; decoding it takes four bytes a pixel. */
const maxPngSide = 2_048;

/** What is wrong with the picture, in words that follow its name; or the checked picture. */
type CheckedLogo = { readonly logo: Logo } | { readonly problem: string };

/** Checks a picture that strangers' browsers will be given: a PNG, which can neither run a script nor load anything. */
export function checkLogo(bytes: Uint8Array): CheckedLogo {
  if (bytes.length === 0) return { problem: "is empty" };
  if (bytes.length > maxLogoBytes) return { problem: "is larger than 64 KiB" };
  const isPng = Buffer.from(bytes.subarray(0, 8)).toString("latin1") === "\x89PNG\r\n\x1a\n";
  const problem = isPng
    ? pngProblem(bytes)
    : "is no PNG; save it as one (an SVG, for example, in any browser or drawing program)";
  if (problem !== null) return { problem };
  return { logo: { type: "image/png", data: Buffer.from(bytes).toString("base64") } };
}

/** The size is read before anything is unpacked. */
function pngProblem(bytes: Uint8Array): string | null {
  const file = Buffer.from(bytes);
  if (file.length < 33) return "is a damaged PNG";
  const [width, height] = [file.readUInt32BE(16), file.readUInt32BE(20)];
  if (width > maxPngSide || height > maxPngSide) return "is more than 2048 pixels wide or high";
  try {
    PNG.sync.read(file);
    return null;
  } catch {
    return "is a damaged PNG";
  }
}
