/**
 * The text of pdf.js, which the page serves to those who open a PDF and `tvs verify --qr` runs itself: as text, because
 * the compiled program can hold a file either as text or as code, and this way it holds it once.
 */
export async function loadPdfLibrary(): Promise<string> {
  const library: object = await import("unpdf/pdfjs", { with: { type: "text" } });
  return String("default" in library ? library.default : "");
}
