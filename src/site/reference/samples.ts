/** The request of an operation in a language: the language's own `call` in data/examples, filled in. */

import type { CodeLanguage } from "../getting-started-languages.ts";

export type Request = {
  readonly method: string;
  /** The whole address, filled in. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
};

/**
 * METHOD, ADDRESS and BODY stand for themselves. The line with NAME and VALUE is there once for each header, and the one
 * with BODY goes where there is none; BODY_IF_ANY is then empty.
 */
export function sampleOf({ call, escape: escaped = String }: CodeLanguage, request: Request): string {
  const { method, url, headers, body } = request;
  const written = body === undefined ? "" : escaped(JSON.stringify(body, null, 2));
  const places: Readonly<Record<string, string>> = { METHOD: method, ADDRESS: url, BODY: written };
  const lines = call.source
    .trimEnd()
    .split("\n")
    .flatMap((line) => {
      if (line.includes("NAME")) return linesOf(headers, line);
      return body === undefined && /BODY\b/.test(line) ? [] : [line];
    });
  return lines
    .join("\n")
    .replace(/\b(METHOD|ADDRESS|BODY)(_IF_ANY)?\b/g, (_all, place) => places[place] ?? "");
}

function linesOf(headers: Request["headers"], line: string): string[] {
  return Object.entries(headers).map(([name, value]) =>
    line.replace(/NAME|VALUE/g, (place) => (place === "NAME" ? name : value)),
  );
}
