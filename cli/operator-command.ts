import words from "../data/commands.json" with { type: "json" };
import type { Config } from "../src/config.ts";
import type { ArgDefinitions, ArgValues, CommandDefinition, commonArgs, NamedCommand } from "./command.ts";
import { configOf, defineCommand } from "./command.ts";
import type { OpenedRegister } from "./open.ts";

type CommandName = keyof typeof words;
type Definition<T extends ArgDefinitions> = Pick<CommandDefinition<T>, "args" | "run">;
type ParsedArgs<T extends ArgDefinitions> = ArgValues<T & typeof commonArgs>;

/** Defines a command of `tvs` with the texts that data/commands.json has for the command's name. */
export function defineTvsCommand<const T extends ArgDefinitions>(
  path: CommandName,
  definition: Definition<T>,
): NamedCommand {
  const name = path.slice(path.lastIndexOf(" ") + 1);
  return { ...defineCommand<T>({ ...words[path], ...definition }), name };
}

type ContextCommand<T extends ArgDefinitions, P> = Pick<CommandDefinition<T>, "args"> & {
  /** Refuses a wrong combination of options before anything is opened. @throws TvsError */
  check?(args: ParsedArgs<T>): void;
  /** Prepares what `act` needs, such as an output file, before the register is opened. @throws TvsError */
  prepare?(args: ParsedArgs<T>, config: Config): P | Promise<P>;
  act(operator: OpenedRegister, args: ParsedArgs<T>, prepared: P): Promise<void>;
};

/** Defines a command that gets the open register. The register is closed after the command. */
export function defineRegisterCommand<const T extends ArgDefinitions, P = undefined>(
  name: CommandName,
  { check, prepare, act, ...definition }: ContextCommand<T, P>,
): NamedCommand {
  return defineTvsCommand<T>(name, {
    ...definition,
    async run({ args }) {
      check?.(args);
      const config = configOf(args);
      const prepared = (await prepare?.(args, config)) as P;
      const { withRegister } = await import("./open.ts");
      await withRegister(config, (operator) => act(operator, args, prepared));
    },
  });
}
