/** Reads and checks the site file (decision D8.4). */

import { Buffer } from "node:buffer";
import { crc32, inflateSync } from "node:zlib";
import * as v from "valibot";
import { TvsError } from "./errors.ts";
import { hasHiddenCharacter } from "./plain-text.ts";
import { defaultSite, type SiteDetails } from "./site.ts";

const line = (max: number) =>
  v.pipe(
    v.string("must be a text"),
    v.transform((text) => text.trim().replace(/\s+/gu, " ")),
    v.nonEmpty("is empty"),
    v.maxLength(max, `is longer than ${max} characters`),
    v.check((text) => !hasHiddenCharacter(text), "holds a character that cannot be seen"),
  );
const url = v.pipe(
  line(500),
  v.check(isWebAddress, "must be a web address that begins with https:// or http://"),
  v.transform((text) => new URL(text).href),
);
const email = v.pipe(
  line(254),
  v.regex(
    /^[\w.!#$%&'*+/=?^`{|}~-]+@[a-z0-9-]+(\.[a-z0-9-]+)+$/i,
    "must be an e-mail address, such as help@registry.example",
  ),
);
const phone = v.pipe(line(40), v.check(isPhoneNumber, "must be a phone number, such as +234 9 000 0000"));
const colorForm = "must be a colour of the form #rrggbb";
/** The least contrast that small text needs (WCAG 2.2, 1.4.3). */
const leastContrast = 4.5;
const accent = v.pipe(
  v.string(colorForm),
  v.regex(/^#[0-9a-f]{6}$/i, colorForm),
  v.toLowerCase(),
  v.check((color) => contrastToWhite(color) >= leastContrast, explainContrast),
);
const logo = v.pipe(
  line(255),
  v.regex(/^[^./\\][^/\\]*$/, "must be the name of a file beside the site's own, without a folder"),
);

/** Makes the schema of an object, which refuses unknown members: a misspelt member would be ignored silently. */
function objectOf<T extends v.ObjectEntries>(entries: T) {
  const names = Object.keys(entries).join(", ");
  const object = v.strictObject(entries, ({ expected, received }) => {
    if (expected === "never") return `is not known; there are ${names}`;
    return received === "undefined" ? "is missing" : `must be an object with ${names}`;
  });
  return v.pipe(
    v.custom<object>((value) => !Array.isArray(value), `must be an object with ${names}`),
    object,
  );
}

const siteSchema = objectOf({
  name: line(120),
  logo: v.exactOptional(logo),
  accent: v.exactOptional(accent),
  contact: v.exactOptional(
    objectOf({
      email: v.exactOptional(email),
      phone: v.exactOptional(phone),
      url: v.exactOptional(url),
      address: v.exactOptional(line(300)),
    }),
  ),
  privacyUrl: v.exactOptional(url),
  accessibilityUrl: v.exactOptional(url),
  reportUrl: v.exactOptional(url),
});

/**
 * Reads a site document.
 * @param readFile reads the logo, a file beside the document
 * @throws TvsError CONFIG_INVALID naming the wrong member, and the errors of `readFile`
 */
export function parseSiteFile(text: string, readFile: (name: string) => Uint8Array): SiteDetails {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ""));
  } catch {
    refuse("it is no JSON");
  }
  const { success, output, issues } = v.safeParse(siteSchema, value, { abortEarly: true });
  if (!success) return refuse(`${v.getDotPath(issues[0]) ?? "the document"} ${issues[0].message}`);
  return {
    ...defaultSite,
    ...output,
    logo: output.logo === undefined ? null : readLogo(output.logo, readFile),
  };
}

function refuse(flaw: string): never {
  throw new TvsError("CONFIG_INVALID", `the site is not valid: ${flaw}`);
}

function isWebAddress(text: string): boolean {
  const address = URL.parse(text);
  return /^https?:\/\//i.test(text) && address?.username === "" && address.password === "";
}

function isPhoneNumber(text: string): boolean {
  return /^\+?[\d ()./-]{3,}$/.test(text) && /\d{3}/.test(text.replace(/\D/g, ""));
}

function explainContrast({ input }: { input: string }): string {
  // The contrast is rounded down, because 4.49 must not be reported as 4.5.
  const reached = (Math.floor(contrastToWhite(input) * 10) / 10).toFixed(1);
  return `${input}: white text on it has a contrast of ${reached}:1, and needs ${leastContrast}:1; darken it`;
}

function contrastToWhite(color: string): number {
  const parts = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255);
  const [red = 0, green = 0, blue = 0] = parts.map((part) =>
    part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4,
  );
  return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05);
}

const maxLogoBytes = 64 * 1024;
/** The largest width and height of a logo, in pixels. A decoded pixel takes four bytes of memory. */
const maxPngSide = 2_048;

function readLogo(name: string, readFile: (name: string) => Uint8Array): SiteDetails["logo"] {
  const file = Buffer.from(readFile(name));
  const flaw = flawOfLogo(file);
  return flaw === null
    ? { type: "image/png", data: file.toString("base64") }
    : refuse(`the logo ${name} ${flaw}`);
}

/** Checks that a file is a whole PNG, which cannot run a script. @returns the flaw in words, or null */
function flawOfLogo(file: Buffer): string | null {
  if (file.length === 0) return "is empty";
  if (file.length > maxLogoBytes) return "is larger than 64 KiB";
  if (file.toString("latin1", 0, 8) !== "\x89PNG\r\n\x1a\n")
    return "is no PNG; save it as one (an SVG, for example, in any browser or drawing program)";
  const packed = readPackedPixels(file);
  if (packed === null) return "is a damaged PNG";
  const [width, height] = [file.readUInt32BE(16), file.readUInt32BE(20)];
  if (Math.min(width, height) === 0) return "is a damaged PNG";
  if (Math.max(width, height) > maxPngSide) return "is more than 2048 pixels wide or high";
  try {
    // A pixel has at most eight bytes, and each row one byte for its filter. An interlaced picture has up to twice the rows.
    const maxOutputLength = height * (8 * width + 2) + 64;
    return inflateSync(packed, { maxOutputLength }).length > 0 ? null : "is a damaged PNG";
  } catch {
    return "is a damaged PNG";
  }
}

/**
 * Reads the compressed pixels of a PNG.
 * @returns null unless all checksums are correct, the only IHDR chunk is the first and the only IEND chunk the last
 */
function readPackedPixels(file: Buffer): Buffer | null {
  const names: string[] = [];
  const pixels: Buffer[] = [];
  for (let at = 8; at < file.length; ) {
    const end = at + 12 <= file.length ? at + 12 + file.readUInt32BE(at) : Number.POSITIVE_INFINITY;
    if (end > file.length || crc32(file.subarray(at + 4, end - 4)) !== file.readUInt32BE(end - 4))
      return null;
    const name = file.toString("latin1", at + 4, at + 8);
    names.push(name);
    if (name === "IDAT") pixels.push(file.subarray(at + 8, end - 4));
    at = end;
  }
  const hasHeader = names.lastIndexOf("IHDR") === 0 && file.readUInt32BE(8) === 13;
  return hasHeader && names.indexOf("IEND") === names.length - 1 ? Buffer.concat(pixels) : null;
}
