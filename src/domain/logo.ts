/** The picture beside a site's name, checked before it is kept (decision D8.4). */

import { Buffer } from "node:buffer";
import { PNG } from "pngjs";
import { type SaxesAttributeNS, SaxesParser } from "saxes";
import type { Logo } from "./site.ts";

const maxLogoBytes = 64 * 1024;
/** Sixteen times what any screen shows of it; decoding it takes four bytes a pixel. */
const maxPngSide = 2_048;

const svgNamespace = "http://www.w3.org/2000/svg";
const htmlNamespace = "http://www.w3.org/1999/xhtml";
/** Elements that run something, or hold what is no drawing. */
const refusedElements = new Set([
  "script",
  "foreignobject",
  "handler",
  "listener",
  "iframe",
  "embed",
  "object",
]);
/** Pictures within the picture, which need nothing from elsewhere. */
const embeddedPicture = /^data:image\/(png|jpeg|gif|webp);base64,/i;

/** What is wrong with the picture, in words that follow its name; or the checked picture. */
type CheckedLogo = { readonly logo: Logo } | { readonly problem: string };

/**
 * Checks a picture that strangers' browsers will be given: a PNG, or an SVG that can neither run a script nor load
 * anything. Browsers run no script of a picture anyway; who opens it by itself must be as safe.
 */
export function checkLogo(bytes: Uint8Array): CheckedLogo {
  if (bytes.length === 0) return { problem: "is empty" };
  if (bytes.length > maxLogoBytes) return { problem: "is larger than 64 KiB" };
  const isPng = Buffer.from(bytes.subarray(0, 8)).toString("latin1") === "\x89PNG\r\n\x1a\n";
  const problem = isPng ? pngProblem(bytes) : svgProblem(bytes);
  if (problem !== null) return { problem };
  const data = Buffer.from(bytes).toString("base64");
  return { logo: { type: isPng ? "image/png" : "image/svg+xml", data } };
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

function svgProblem(bytes: Uint8Array): string | null {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return "is neither a PNG nor an SVG in UTF-8";
  }
  if (!text.includes("<")) return "is neither a PNG nor an SVG";
  return svgFlaw(text);
}

/** The first thing in it that a picture must not have; null for a picture. */
function svgFlaw(text: string): string | null {
  const parser = new SaxesParser({ xmlns: true });
  let flaw: string | null = null;
  let depth = 0;
  let style: { depth: number; text: string } | null = null;
  const note = (found: string | null) => {
    flaw ??= found;
  };
  parser.on("doctype", () => note("has a document type, which may declare entities; save it without one"));
  parser.on("processinginstruction", ({ target }) =>
    note(`has the instruction <?${target}?>, which loads a file`),
  );
  parser.on("opentag", ({ uri, local, name, attributes }) => {
    if (depth++ === 0 && (uri !== svgNamespace || local !== "svg"))
      note("is no SVG: it does not begin with <svg>");
    if (uri === htmlNamespace || refusedElements.has(local.toLowerCase()))
      note(`has <${name}>, which a logo must not`);
    for (const attribute of Object.values(attributes)) note(attributeFlaw(attribute));
    if (local.toLowerCase() === "style") style ??= { depth, text: "" };
  });
  parser.on("closetag", () => {
    // Whole, as a browser reads it: comments, elements and CDATA may stand between its pieces.
    if (style?.depth === depth) {
      note(styleFlaw(style.text, "<style>"));
      style = null;
    }
    depth--;
  });
  const styled = (text: string) => {
    if (style !== null) style.text += text;
  };
  parser.on("text", styled);
  parser.on("cdata", styled);
  parser.on("error", (error) => note(`is not well-formed: ${error.message.replace(/\.$/, "")}`));
  parser.write(text).close();
  return flaw;
}

function attributeFlaw({ name, local, value, uri }: SaxesAttributeNS): string | null {
  const plain = local.toLowerCase();
  if (plain.startsWith("on")) return `has ${name}, which runs a script`;
  if (uri === "http://www.w3.org/2000/xmlns/") return null;
  const address = value.trim();
  if (plain === "href" || plain === "src") {
    const isOwn = address === "" || address.startsWith("#") || embeddedPicture.test(address);
    return isOwn ? null : `has ${name}, which refers to something outside it`;
  }
  if (plain === "attributename" && /(^|:)(href|src)$/i.test(address))
    return `has ${name}="${address}", which may put an address where none was`;
  if (/^\s*(javascript|vbscript|data\s*:\s*text)/i.test(address)) return `has ${name}, which runs a script`;
  return styleFlaw(value, name);
}

/** Style may load files by `url(…)`, `image-set(…)` and `@import`; an escape could hide them. */
function styleFlaw(style: string, place: string): string | null {
  const isLoading =
    /\\|@import|image-set\s*\(|\bsrc\s*\(/i.test(style) ||
    [...style.matchAll(/url\s*\(\s*["']?\s*([^)]*)/gi)].some(
      ([, address = ""]) => !address.startsWith("#") && !embeddedPicture.test(address),
    );
  return isLoading ? `has ${place}, which refers to something outside it` : null;
}
