/** A pseudo-terminal of a given size, as an operator sits before it. */
import { programWords } from "../../harness/program.ts";

type Seen = { readonly code: number; readonly text: string };

type TerminalOptions = {
  readonly dataDir?: string;
  readonly columns?: number;
  readonly rows?: number;
  /** Whether it shows colours and bold letters. */
  readonly isColorful?: boolean;
  /** The file that has the standard output, as behind `>`. */
  readonly stdoutFile?: string;
  /** What is typed, each once the text before it was shown. */
  readonly typed?: readonly (readonly [shown: string, keys: string])[];
};

/** Runs one command line on a terminal. @returns what stood on it, without the terminal's line ends */
export async function onTerminal(args: readonly string[], options: TerminalOptions = {}): Promise<Seen> {
  const { dataDir, columns = 80, rows = 60, isColorful = false, stdoutFile, typed = [] } = options;
  const inherited = Object.entries(process.env).filter(([name]) => !/^(TVS_|NO_COLOR$|COLUMNS$)/.test(name));
  let text = "";
  const waiting = [...typed];
  const decoder = new TextDecoder();
  const redirected = stdoutFile === undefined ? [] : ["sh", "-c", 'exec "$@" > "$0"', stdoutFile];
  const child = Bun.spawn([...redirected, ...programWords, ...args], {
    env: {
      ...(Object.fromEntries(inherited) as Record<string, string>),
      ...(isColorful ? {} : { NO_COLOR: "1" }),
      TERM: "xterm-256color",
      ...(dataDir === undefined ? {} : { TVS_DATA: dataDir }),
    },
    terminal: {
      cols: columns,
      rows,
      data(terminal, bytes) {
        text += decoder.decode(bytes, { stream: true });
        const [next] = waiting;
        if (next === undefined || !text.includes(next[0])) return;
        waiting.shift();
        terminal.write(next[1]);
      },
    },
  });
  const code = await child.exited;
  child.terminal?.close();
  return { code, text: text.replaceAll("\r\n", "\n") };
}
