import type { Config } from "../src/config.ts";
import {
  type Args,
  type ArgsOf,
  type CommandDefinition,
  command,
  type commonArgs,
  configOf,
  type TvsCommand,
} from "./command.ts";
import { type CommandContext, withContext } from "./open.ts";

type Given<T extends Args> = ArgsOf<T & typeof commonArgs>;

type ContextCommand<T extends Args, P> = Omit<CommandDefinition<T>, "run"> & {
  /** Refuses a wrong combination of options before anything is opened. @throws TvsError */
  check?(args: Given<T>): void;
  /** Prepares something for `act` before the register is opened, such as a file to write. @throws TvsError */
  prepare?(args: Given<T>, config: Config): P | Promise<P>;
  act(operator: CommandContext, args: Given<T>, prepared: P): Promise<void>;
};

/** Defines a command that works with the open register. The register is closed after it. */
export function operatorCommand<const T extends Args, P = undefined>({
  check,
  prepare,
  act,
  ...definition
}: ContextCommand<T, P>): TvsCommand {
  return command<T>({
    ...definition,
    async run({ args }) {
      check?.(args);
      const config = configOf(args);
      const prepared = (await prepare?.(args, config)) as P;
      await withContext(config, (operator) => act(operator, args, prepared));
    },
  });
}
