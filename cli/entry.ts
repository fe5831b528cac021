/** Where a worker thread re-enters the program; told by main.ts, whose own address only main.ts knows. */
let entry: URL | undefined;

export function setWorkerEntry(url: URL): void {
  entry = url;
}

export function workerEntry(): URL {
  if (entry === undefined) throw new Error("the program was not started by main.ts");
  return entry;
}
