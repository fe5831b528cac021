import notices from "./notices.bundle.txt" with { type: "text" };
import { defineTvsCommand } from "./operator-command.ts";
import { print } from "./terminal/output.ts";

export const licensesCommand = defineTvsCommand("licenses", {
  async run({ args }) {
    print(args, { licenses: notices }, () => notices);
  },
});
