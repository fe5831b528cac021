/** Reads and checks the site file (decision D8.4). */

import { Buffer } from "node:buffer";
import { crc32, inflateSync } from "node:zlib";
import { TvsError } from "./errors.ts";
import { hasHiddenCharacter } from "./plain-text.ts";
import { type Contact, defaultSite, type Logo, type Site } from "./site.ts";

const members = ["name", "logo", "accent", "contact", "privacyUrl", "accessibilityUrl", "reportUrl"] as const;
const contactMembers = ["email", "phone", "url", "address"] as const;

const maxNameLength = 120;
const maxAddressLength = 300;
const maxUrlLength = 500;
/** The least contrast that small text needs (WCAG 2.2, 1.4.3). */
const leastContrast = 4.5;

type Members = Readonly<Record<string, unknown>>;

/** @throws TvsError CONFIG_INVALID */
function refuse(flaw: string): never {
  throw new TvsError("CONFIG_INVALID", `the site is not valid: ${flaw}`);
}

/**
 * Reads a site document.
 * @param readFile reads the logo, a file beside the document
 * @throws TvsError CONFIG_INVALID naming the wrong member, and what `readFile` throws
 */
export function parseSite(text: string, readFile: (name: string) => Uint8Array): Site {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ""));
  } catch {
    refuse("it is no JSON");
  }
  const given = membersOf(value, "the document", members);
  if (given.name === undefined) refuse("name is missing");
  return {
    ...defaultSite,
    name: line(given.name, "name", maxNameLength),
    logo: given.logo === undefined ? null : readLogo(given.logo, readFile),
    accent: given.accent === undefined ? null : readAccent(given.accent),
    contact: given.contact === undefined ? {} : readContact(given.contact),
    privacyUrl: optionalUrl(given, "privacyUrl"),
    accessibilityUrl: optionalUrl(given, "accessibilityUrl"),
    reportUrl: optionalUrl(given, "reportUrl"),
  };
}

/** Reads an object. Unknown members are refused, because a misspelt one would be ignored silently. */
function membersOf(value: unknown, path: string, known: readonly string[]): Members {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return refuse(`${path} must be an object with ${known.join(", ")}`);
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  const where = path === "the document" ? "" : ` in ${path}`;
  if (unknown !== undefined)
    refuse(`${JSON.stringify(unknown)} is not known${where}; there are ${known.join(", ")}`);
  return value as Members;
}

function line(value: unknown, path: string, max: number): string {
  if (typeof value !== "string") return refuse(`${path} must be a text`);
  const text = value.trim().replace(/\s+/gu, " ");
  if (text === "") refuse(`${path} is empty`);
  if (text.length > max) refuse(`${path} is longer than ${max} characters`);
  if (hasHiddenCharacter(text)) refuse(`${path} holds a character that cannot be seen`);
  return text;
}

function readLogo(value: unknown, readFile: (name: string) => Uint8Array): Logo {
  const name = line(value, "logo", 255);
  if (/[/\\]/.test(name) || name.startsWith("."))
    refuse("logo must be the name of a file beside the site's own, without a folder");
  const logo = checkLogo(readFile(name));
  return typeof logo === "string" ? refuse(`the logo ${name} ${logo}`) : logo;
}

function readAccent(value: unknown): string {
  if (typeof value !== "string" || !/^#[0-9a-f]{6}$/i.test(value))
    return refuse("accent must be a colour of the form #rrggbb");
  const contrast = 1.05 / (luminance(value) + 0.05);
  // Rounded down: 4.49 must not be reported as 4.5.
  const reached = `a contrast of ${(Math.floor(contrast * 10) / 10).toFixed(1)}:1`;
  if (contrast < leastContrast)
    refuse(`accent ${value}: white text on it has ${reached}, and needs ${leastContrast}:1; darken it`);
  return value.toLowerCase();
}

function luminance(color: string): number {
  const parts = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255);
  const [red = 0, green = 0, blue = 0] = parts.map((part) =>
    part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function readContact(value: unknown): Contact {
  const { email, phone, url, address } = membersOf(value, "contact", contactMembers);
  return {
    ...(email === undefined ? {} : { email: readEmail(email) }),
    ...(phone === undefined ? {} : { phone: readPhone(phone) }),
    ...(url === undefined ? {} : { url: readUrl(url, "contact.url") }),
    ...(address === undefined ? {} : { address: line(address, "contact.address", maxAddressLength) }),
  };
}

function readEmail(value: unknown): string {
  const email = line(value, "contact.email", 254);
  if (!/^[\w.!#$%&'*+/=?^`{|}~-]+@[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(email))
    refuse("contact.email must be an e-mail address, such as help@registry.example");
  return email;
}

function readPhone(value: unknown): string {
  const phone = line(value, "contact.phone", 40);
  if (!/^\+?[\d ()./-]{3,}$/.test(phone) || !/\d{3}/.test(phone.replace(/\D/g, "")))
    refuse("contact.phone must be a phone number, such as +234 9 000 0000");
  return phone;
}

function optionalUrl(given: Members, name: "privacyUrl" | "accessibilityUrl" | "reportUrl"): string | null {
  return given[name] === undefined ? null : readUrl(given[name], name);
}

function readUrl(value: unknown, path: string): string {
  const text = line(value, path, maxUrlLength);
  const url = URL.parse(text);
  const isPlain = /^https?:\/\//i.test(text) && url !== null && url.username === "" && url.password === "";
  if (!isPlain) refuse(`${path} must be a web address that begins with https:// or http://`);
  return url?.href ?? text;
}

const maxLogoBytes = 64 * 1024;
/** The largest width and height of a logo: decoding it takes four bytes a pixel. */
const maxPngSide = 2_048;

/** Checks that a file is a whole PNG, which can run no script. @returns the logo, or what is wrong, to follow its name */
function checkLogo(bytes: Uint8Array): Logo | string {
  if (bytes.length === 0) return "is empty";
  if (bytes.length > maxLogoBytes) return "is larger than 64 KiB";
  const file = Buffer.from(bytes);
  if (file.toString("latin1", 0, 8) !== "\x89PNG\r\n\x1a\n")
    return "is no PNG; save it as one (an SVG, for example, in any browser or drawing program)";
  return pngProblem(file) ?? { type: "image/png", data: file.toString("base64") };
}

type PngChunk = { readonly name: string; readonly content: Buffer };

/** Splits a PNG into chunks. @returns null for a cut-off chunk, a wrong checksum or an unknown critical chunk */
function chunksOf(file: Buffer): PngChunk[] | null {
  const chunks: PngChunk[] = [];
  for (let at = 8; at < file.length; ) {
    const end = at + 12 <= file.length ? at + 12 + file.readUInt32BE(at) : Number.POSITIVE_INFINITY;
    if (end > file.length || crc32(file.subarray(at + 4, end - 4)) !== file.readUInt32BE(end - 4))
      return null;
    const name = file.toString("latin1", at + 4, at + 8);
    if (!/^(IHDR|PLTE|IDAT|IEND|[a-z][A-Za-z]{3})$/.test(name)) return null;
    chunks.push({ name, content: file.subarray(at + 8, end - 4) });
    at = end;
  }
  return chunks;
}

/** Channels, and allowed bits of each channel, by colour type: grey, RGB, palette, grey with alpha, RGB with alpha. */
const colorTypes = new Map([
  [0, { channels: 1, depths: [1, 2, 4, 8, 16] }],
  [2, { channels: 3, depths: [8, 16] }],
  [3, { channels: 1, depths: [1, 2, 4, 8] }],
  [4, { channels: 2, depths: [8, 16] }],
  [6, { channels: 4, depths: [8, 16] }],
]);

type Pass = readonly [x: number, y: number, stepX: number, stepY: number];
/** The passes of an interlaced picture (ISO/IEC 15948, 8.2). */
const interlaced: readonly Pass[] = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
];

/** Gives the unpacked bytes of each row, its filter byte included. @returns null for an invalid header */
function rowsOf(header: Buffer): number[] | null {
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const [depth = 0, colorType = 0, compression, filter, interlace = 2] = header.subarray(8);
  const color = colorTypes.get(colorType);
  if (width * height === 0 || compression !== 0 || filter !== 0 || interlace > 1) return null;
  if (color === undefined || !color.depths.includes(depth)) return null;
  const passes: readonly Pass[] = interlace === 1 ? interlaced : [[0, 0, 1, 1]];
  return passes.flatMap(([x, y, stepX, stepY]) => {
    const [columns, rows] = [Math.ceil((width - x) / stepX), Math.ceil((height - y) / stepY)];
    if (columns <= 0 || rows <= 0) return [];
    return new Array<number>(rows).fill(1 + Math.ceil((columns * color.channels * depth) / 8));
  });
}

/** Whether the pixels unpack to exactly the size in the header. Unpacking stops at that size. */
function isWhole(rows: readonly number[], packed: Uint8Array): boolean {
  const size = rows.reduce((sum, row) => sum + row, 0);
  try {
    const bytes = inflateSync(packed, { maxOutputLength: size });
    let at = 0;
    const hasFilters = rows.every((row) => {
      const filter = bytes[at] ?? 5;
      at += row;
      return filter <= 4;
    });
    return bytes.length === size && hasFilters;
  } catch {
    return false;
  }
}

function pngProblem(file: Buffer): string | null {
  const chunks = chunksOf(file) ?? [];
  const named = (name: string) => chunks.filter((chunk) => chunk.name === name);
  const [header, ...furtherHeaders] = named("IHDR");
  const [end, ...furtherEnds] = named("IEND");
  const isFramed =
    chunks[0] === header && chunks.at(-1) === end && furtherHeaders.length + furtherEnds.length === 0;
  if (header?.content.length !== 13 || !isFramed) return "is a damaged PNG";
  if (Math.max(header.content.readUInt32BE(0), header.content.readUInt32BE(4)) > maxPngSide)
    return "is more than 2048 pixels wide or high";
  const rows = rowsOf(header.content);
  const hasPalette = header.content[9] !== 3 || named("PLTE").length === 1;
  const packed = Buffer.concat(named("IDAT").map(({ content }) => content));
  return rows !== null && hasPalette && isWhole(rows, packed) ? null : "is a damaged PNG";
}
