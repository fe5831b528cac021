/** Whether the parts of a workbook name each other without contradiction: another program may read other parts. */

import { Buffer } from "node:buffer";
import type { WorkBook } from "@e965/xlsx";
import { damaged } from "./archive.ts";
import { UnreadableError } from "./fields.ts";

/** The content types of a workbook, a template, and both with macros or in the binary form. */
const workbookType = /(?:spreadsheetml|ms-excel)\.(?:sheet|template|addin)\.(?:[\w.]*\.)?main(?:\+xml)?$/i;

type Parts = ReadonlyMap<string, () => string>;

/** @throws UnreadableError when the parts contradict each other; a sheet of OpenDocument has no such parts */
export function checkParts(book: WorkBook): void {
  const parts = partsOf(book);
  const relations = parts.get("_rels/.rels")?.();
  const types = parts.get("[content_types].xml")?.();
  if (types === undefined || parts.has("content.xml")) return;
  const named = new Set([
    ...(relations === undefined ? [] : targetsOf(relations)),
    ...tags(types, "Override")
      .filter(({ ContentType = "" }) => workbookType.test(ContentType))
      .map(({ PartName = "" }) => partName(PartName)),
  ]);
  if (named.size > 1) throw new UnreadableError(1, damaged);
  const [workbook = "xl/workbook.xml"] = named;
  const text = parts.get(workbook)?.();
  if (text === undefined) throw new UnreadableError(1, damaged);
  for (const sheet of tags(text, "sheet")) {
    const ids = Object.keys(sheet).filter((name) => /:id$/i.test(name));
    if (ids.length > 1) throw new UnreadableError(1, damaged);
  }
  for (const [name, read] of parts) if (/^xl\/worksheets\/[^/]+\.xml$/.test(name)) checkRows(read());
}

function partsOf(book: WorkBook): Parts {
  const { keys = [], files = {} } = book as unknown as {
    keys?: string[];
    files?: Readonly<Record<string, { content?: Uint8Array }>>;
  };
  return new Map(
    keys.map((key) => [
      partName(key.replace(/^Root Entry/, "")),
      () => Buffer.from(files[key]?.content ?? []).toString(),
    ]),
  );
}

function partName(name: string): string {
  return name.replace(/^\/+/, "").toLowerCase();
}

function targetsOf(relations: string): string[] {
  return tags(relations, "Relationship")
    .filter(({ Type = "" }) => Type.endsWith("/officeDocument"))
    .map(({ Target = "" }) => partName(Target));
}

/** The attributes of each tag of a name, under whatever prefix. */
function tags(xml: string, name: string): Readonly<Record<string, string>>[] {
  return [...xml.matchAll(new RegExp(`<(?:\\w+:)?${name}\\s([^<>]*)>`, "g"))].map(([, inside = ""]) =>
    Object.fromEntries(
      [...inside.matchAll(/([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g)].map(([, key, one, other]) => [
        key,
        one ?? other ?? "",
      ]),
    ),
  );
}

/** Row numbers rise, and none is beyond those that a sheet can have. */
function checkRows(sheet: string): void {
  let last = 0;
  for (const [, inside = ""] of sheet.matchAll(/<(?:\w+:)?row\s([^<>]*)>/g)) {
    const given = /(?:^|\s)r\s*=\s*["']([^"']*)["']/.exec(inside)?.[1];
    const line = given === undefined ? last + 1 : Number(given);
    if (!Number.isSafeInteger(line) || line <= last || line > 1_048_576)
      throw new UnreadableError(1, damaged);
    last = line;
  }
}
