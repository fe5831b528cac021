import words from "../data/commands.json" with { type: "json" };
import { command } from "./command.ts";
import notices from "./notices.bundle.txt" with { type: "text" };
import { print } from "./terminal/output.ts";

/** Prints the licences of everything that the executable contains. */
export const licensesCommand = command({
  ...words.licenses,
  async run({ args }) {
    print(args, { licenses: notices }, () => notices);
  },
});
