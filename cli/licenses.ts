import notices from "./notices.bundle.txt" with { type: "text" };
import { tvsCommand } from "./operator-command.ts";
import { print } from "./terminal/output.ts";

export const licensesCommand = tvsCommand("licenses", {
  async run({ args }) {
    print(args, { licenses: notices }, () => notices);
  },
});
