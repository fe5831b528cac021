import { rejectionCodes, warningCodes } from "./codes.ts";
import type { ImportResult } from "./import.ts";
import type { Staging } from "./store.ts";

const pageRows = 1000;

/**
 * The report of an import as JSON text, in pieces: `{file, sha256, …counts, rejected: [{line, field,
 * code}], warnings: [{line, field, code}], codes}`. It holds no value of the file.
 */
export async function* reportText(result: ImportResult, staging: Staging): AsyncGenerator<string> {
  const { rejected: _rejected, warnings: _warnings, ...head } = result;
  const seen = new Set<string>();
  yield `${JSON.stringify(head, null, 2).slice(0, -2)},\n`;
  for (const kind of ["rejected", "warnings"] as const) {
    yield `  "${kind}": [`;
    yield* issueLines(staging, kind, seen);
    yield "],\n";
  }
  const codes = Object.entries({ ...rejectionCodes, ...warningCodes }).filter(([code]) => seen.has(code));
  yield `  "codes": ${JSON.stringify(Object.fromEntries(codes), null, 2).replaceAll("\n", "\n  ")}\n}\n`;
}

async function* issueLines(
  staging: Staging,
  kind: "rejected" | "warnings",
  seen: Set<string>,
): AsyncGenerator<string> {
  let after = 0;
  for (;;) {
    const page = await staging.issues(kind, { after, limit: pageRows });
    if (page.length === 0) break;
    const lines = page.map(({ line, field, code }) => {
      seen.add(code);
      return JSON.stringify({ line, field, code });
    });
    yield `${after === 0 ? "" : ","}\n    ${lines.join(",\n    ")}`;
    after = page.at(-1)?.id ?? after;
  }
  if (after > 0) yield "\n  ";
}
