/** The file that says whose service it is (decision D8.4), read and checked whole before any of it is kept. */

import { Buffer } from "node:buffer";
import { PNG } from "pngjs";
import { TvsError } from "./errors.ts";
import { hasHiddenCharacter } from "./plain-text.ts";
import { type Contact, defaultSite, type Logo, type Site } from "./site.ts";

const members = ["name", "logo", "accent", "contact", "privacyUrl", "accessibilityUrl", "reportUrl"] as const;
const contactMembers = ["email", "phone", "url", "address"] as const;

const maxNameLength = 120;
const maxAddressLength = 300;
const maxUrlLength = 500;
/** Contrast that text of any size must have to be read (WCAG 2.2, 1.4.3). */
const leastContrast = 4.5;

type Members = Readonly<Record<string, unknown>>;

/** @throws TvsError CONFIG_INVALID */
function refuse(flaw: string): never {
  throw new TvsError("CONFIG_INVALID", `the site is not valid: ${flaw}`);
}

/**
 * Reads a site document.
 * @param text JSON
 * @param readFile reads the logo, a file beside the document. @throws TvsError INPUT_UNREADABLE
 * @throws TvsError CONFIG_INVALID naming the member that is wrong, and what `readFile` throws
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

/** Members of an object, none of them unknown; a misspelt one would be left out silently. */
function membersOf(value: unknown, place: string, known: readonly string[]): Members {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return refuse(`${place} must be an object with ${known.join(", ")}`);
  }
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const where = place === "the document" ? "" : ` in ${place}`;
    refuse(`${JSON.stringify(unknown)} is not known${where}; there are ${known.join(", ")}`);
  }
  return value as Members;
}

/** A line of text that people can read. */
function line(value: unknown, place: string, max: number): string {
  if (typeof value !== "string") return refuse(`${place} must be a text`);
  const text = value.trim().replace(/\s+/gu, " ");
  if (text === "") refuse(`${place} is empty`);
  if (text.length > max) refuse(`${place} is longer than ${max} characters`);
  if (hasHiddenCharacter(text)) refuse(`${place} holds a character that cannot be seen`);
  return text;
}

function readLogo(value: unknown, readFile: (name: string) => Uint8Array): Logo {
  const name = line(value, "logo", 255);
  if (/[/\\]/.test(name) || name.startsWith(".")) {
    refuse("logo must be the name of a file beside the site's own, without a folder");
  }
  const checked = checkLogo(readFile(name));
  return "problem" in checked ? refuse(`the logo ${name} ${checked.problem}`) : checked.logo;
}

function readAccent(value: unknown): string {
  if (typeof value !== "string" || !/^#[0-9a-f]{6}$/i.test(value)) {
    return refuse("accent must be a colour of the form #rrggbb");
  }
  const contrast = 1.05 / (luminance(value) + 0.05);
  if (contrast < leastContrast) {
    // Rounded down: 4.49 must not be reported as 4.5.
    const reached = (Math.floor(contrast * 10) / 10).toFixed(1);
    refuse(
      `accent ${value}: white text on it has a contrast of ${reached}:1, and needs ${leastContrast}:1; darken it`,
    );
  }
  return value.toLowerCase();
}

/** The relative luminance of `#rrggbb` (WCAG 2.2). */
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
  if (!/^[\w.!#$%&'*+/=?^`{|}~-]+@[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(email)) {
    refuse("contact.email must be an e-mail address, such as help@registry.example");
  }
  return email;
}

function readPhone(value: unknown): string {
  const phone = line(value, "contact.phone", 40);
  if (!/^\+?[\d ()./-]{3,}$/.test(phone) || !/\d{3}/.test(phone.replace(/\D/g, ""))) {
    refuse("contact.phone must be a phone number, such as +234 9 000 0000");
  }
  return phone;
}

function optionalUrl(given: Members, name: "privacyUrl" | "accessibilityUrl" | "reportUrl"): string | null {
  return given[name] === undefined ? null : readUrl(given[name], name);
}

function readUrl(value: unknown, place: string): string {
  const text = line(value, place, maxUrlLength);
  const url = URL.parse(text);
  const isPlain = /^https?:\/\//i.test(text) && url !== null && url.username === "" && url.password === "";
  if (!isPlain) refuse(`${place} must be a web address that begins with https:// or http://`);
  return url?.href ?? text;
}

/** Browsers and decoders differ in which of two headers they believe, and in what one of another length says. */
function hasOneHeader(file: Buffer): boolean {
  const names: string[] = [];
  for (let at = 8; at + 12 <= file.length; at += 12 + file.readUInt32BE(at))
    names.push(file.toString("latin1", at + 4, at + 8));
  const isFirst = file.length >= 33 && file.readUInt32BE(8) === 13 && names.indexOf("IHDR") === 0;
  return isFirst && names.lastIndexOf("IHDR") === 0;
}

const maxLogoBytes = 64 * 1024;
/** Sixteen times what any screen shows of it; decoding it takes four bytes a pixel. */
const maxPngSide = 2_048;

/** What is wrong with the picture, in words that follow its name; or the checked picture. */
type CheckedLogo = { readonly logo: Logo } | { readonly problem: string };

/** Checks a picture that strangers' browsers will be given: a PNG, which can neither run a script nor load anything. */
function checkLogo(bytes: Uint8Array): CheckedLogo {
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
  if (!hasOneHeader(file)) return "is a damaged PNG";
  const [width, height] = [file.readUInt32BE(16), file.readUInt32BE(20)];
  if (width > maxPngSide || height > maxPngSide) return "is more than 2048 pixels wide or high";
  try {
    PNG.sync.read(file);
    return null;
  } catch {
    return "is a damaged PNG";
  }
}
