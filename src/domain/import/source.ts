/** What the readers of both formats are given. */
export type RowSource = {
  /** The file's text in pieces, without a byte order mark. */
  readonly text: AsyncIterable<string>;
  /** Told once of each column or member that is not known. */
  readonly onUnknown: (label: string) => void;
};

/** A row longer than this is no teacher: an unclosed quote swallows the rest of a file. */
export const maxRowLength = 1024 * 1024;

/** A fault of the file itself, at a physical line. */
export class UnreadableError extends Error {
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.name = "UnreadableError";
    this.line = line;
  }
}
