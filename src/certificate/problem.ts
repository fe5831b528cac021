/** Something that keeps the page from checking. Its message is for the reader, and never quotes what was put in. */
export class PageProblem extends Error {}
