import { suggestion } from "../../src/domain/did-you-mean.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { command } from "../command.ts";
import { scripts } from "./completion-scripts.ts";
import { print } from "./output.ts";

const shells = Object.keys(scripts);

export const completionCommand = command({
  name: "completion",
  description:
    "Print a script that completes commands, options, their values, partner ids and key ids in your shell",
  example: [
    'tvs completion bash > ~/.local/share/bash-completion/completions/tvs    # or: eval "$(tvs completion bash)"',
    "tvs completion zsh > ~/.zfunc/_tvs    # a folder of $fpath; or: source <(tvs completion zsh)",
    "tvs completion fish > ~/.config/fish/completions/tvs.fish    # or: tvs completion fish | source",
  ].join("\n  "),
  args: {
    shell: {
      type: "positional",
      required: true,
      valueHint: shells.join("|"),
      description: `One of ${shells.join(", ")}`,
    },
  },
  async run({ args }) {
    const { shell } = args;
    const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
    if (script === undefined) {
      const choices = `${shells.join(", ")}${suggestion(shell, shells)}`;
      throw new TvsError("USAGE", `the shell must be one of ${choices}`);
    }
    print(args, { shell, script }, () => script);
  },
});
