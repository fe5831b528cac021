/** What the readers of both formats are given. */
export type RowSource = {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Told once of each column or member that is not known. */
  readonly onUnknown: (label: string) => void;
};

/** A row longer than this is no teacher: an unclosed quote swallows the rest of a file. */
export const maxRowBytes = 1024 * 1024;

/** A fault of the file itself, at a physical line. */
export class UnreadableError extends Error {
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.name = "UnreadableError";
    this.line = line;
  }
}
