/** What the load client reads of an HTTP answer: whether it is whole, its status, and whether another may follow. */

const headEnd = Buffer.from("\r\n\r\n");
const lengthName = /\r\ncontent-length: *(\d+)/i;
const closeName = /\r\nconnection: *close/i;

/**
 * The first answer in what a connection has received.
 * @returns null while it is not whole
 * @throws Error for an answer without Content-Length, which nothing that is measured here gives
 */
export function answerIn(received: Buffer): { status: string; isLast: boolean } | null {
  const end = received.indexOf(headEnd);
  if (end < 0) return null;
  const head = received.toString("latin1", 0, end);
  const length = lengthName.exec(head)?.[1];
  if (length === undefined) throw new Error("an answer without Content-Length");
  if (received.length < end + headEnd.length + Number(length)) return null;
  return { status: head.slice(9, 12), isLast: closeName.test(head) };
}
