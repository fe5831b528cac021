import type { ParsedArgs } from "citty";
import {
  type Args,
  type CommandDefinition,
  command,
  type commonArgs,
  configOf,
  type OurCommand,
} from "./command.ts";
import { type Operator, withOperator } from "./open.ts";

type OperatorCommand<T extends Args> = Omit<CommandDefinition<T>, "run"> & {
  act(operator: Operator, args: ParsedArgs<T & typeof commonArgs>): Promise<void>;
};

/**
 * Defines a command over the register at hand, which is opened for it and closed behind it. One that checks what it was
 * told before there is a register, or that makes one, opens it by itself.
 */
export function operatorCommand<const T extends Args>({
  act,
  ...definition
}: OperatorCommand<T>): OurCommand {
  return command<T>({
    ...definition,
    run: ({ args }) => withOperator(configOf(args), (operator) => act(operator, args)),
  });
}
