import notices from "./notices.bundle.txt" with { type: "text" };
import { defineTvsCommand } from "./operator-command.ts";
import { printResult } from "./terminal/output.ts";

export const licensesCommand = defineTvsCommand("licenses", {
  async run({ args }) {
    printResult(args, { licenses: notices }, () => notices);
  },
});
