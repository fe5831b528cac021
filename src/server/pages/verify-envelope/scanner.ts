/** The second script of the page: reads certificates back. It is loaded only by those who open a picture. */

export { readPdfImages } from "./pdf.ts";
export { scanCodes } from "./scan.ts";
