import {
  type Args,
  type ArgsOf,
  type CommandDefinition,
  command,
  type commonArgs,
  configOf,
  type OurCommand,
} from "./command.ts";
import { type Operator, withOperator } from "./open.ts";

type OperatorCommand<T extends Args> = Omit<CommandDefinition<T>, "run"> & {
  /** Refuses what the options say together, before anything is opened. @throws TvsError */
  check?(args: ArgsOf<T & typeof commonArgs>): void;
  act(operator: Operator, args: ArgsOf<T & typeof commonArgs>): Promise<void>;
};

/**
 * Defines a command over the register at hand, which is opened for it and closed behind it. One that checks what it was
 * told before there is a register, or that makes one, opens it by itself.
 */
export function operatorCommand<const T extends Args>({
  check,
  act,
  ...definition
}: OperatorCommand<T>): OurCommand {
  return command<T>({
    ...definition,
    async run({ args }) {
      check?.(args);
      await withOperator(configOf(args), (operator) => act(operator, args));
    },
  });
}
