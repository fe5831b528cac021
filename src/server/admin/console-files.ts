import { compressedDocument, type PublicDocument } from "../document.ts";
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

/** Loads at the first call; a failed load is tried again at the next one. */
function once(load: () => Promise<PublicDocument>): () => Promise<PublicDocument> {
  let loaded: Promise<PublicDocument> | undefined;
  return () => {
    loaded ??= load().catch((error) => {
      loaded = undefined;
      throw error;
    });
    return loaded;
  };
}
