/** Runs commands on a pseudo-terminal. */
import { programWords } from "../../harness/program.ts";

type Seen = { readonly code: number; readonly text: string };

type TerminalOptions = {
  readonly dataDir?: string;
  readonly columns?: number;
  /** Keys to type, each after its text was shown. */
  readonly typed?: readonly (readonly [shown: string, keys: string])[];
};

/** Runs one command line on a terminal. @returns its text without the terminal's line ends */
export async function runOnTerminal(args: readonly string[], options: TerminalOptions = {}): Promise<Seen> {
  const { dataDir, columns = 80, typed = [] } = options;
  const inherited = Object.entries(process.env).filter(([name]) => !/^(TVS_|COLUMNS$)/.test(name));
  let text = "";
  const waiting = [...typed];
  const decoder = new TextDecoder();
  const child = Bun.spawn([...programWords, ...args], {
    env: {
      ...(Object.fromEntries(inherited) as Record<string, string>),
      ...{ NO_COLOR: "1", TERM: "xterm-256color" },
      ...(dataDir === undefined ? {} : { TVS_DATA: dataDir }),
    },
    terminal: {
      cols: columns,
      rows: 60,
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
