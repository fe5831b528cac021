import { compressedDocument, once, type PublicDocument } from "../document.ts";
import { consoleStyle } from "./console-style.ts";

/** The files of the console's pages, each read and compressed when it is first asked for. */
export function consoleFiles(): Readonly<Record<string, () => Promise<PublicDocument>>> {
  const script = "text/javascript; charset=utf-8";
  const style = "text/css; charset=utf-8";
  return {
    "/console.css": once(async () => compressedDocument(consoleStyle, style)),
    "/console.js": once(async () => {
      const file = await import("./console.client.js", { with: { type: "text" } });
      return compressedDocument(file.default, script);
    }),
    "/uplot.js": once(async () => {
      const file = await import("uplot/dist/uPlot.iife.min.js", { with: { type: "text" } });
      return compressedDocument(file.default, script);
    }),
    "/uplot.css": once(async () => {
      const file = await import("uplot/dist/uPlot.min.css", { with: { type: "text" } });
      return compressedDocument(file.default, style);
    }),
  };
}
