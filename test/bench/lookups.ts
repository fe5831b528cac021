import type { Bench } from "./bench.ts";
import { measureBesideEmpty } from "./beside-empty.ts";
import { planFor, registerSizeFor, serveRegisters } from "./register.ts";
import { withCleanup } from "./setup.ts";

const question = "What does a public look-up cost, beside an answer in which nothing is done?";

/** Public look-ups, beside an empty answer. */
export const lookupsBench: Bench = (options) =>
  withCleanup(async (cleanup) => {
    const served = await serveRegisters(options, { teachers: registerSizeFor(options), cleanup });
    const asked = served.map((one) => ({
      name: "look-up",
      plan: { ...planFor(one), kind: "lookup" as const },
      isEarlier: one.program.isEarlier,
    }));
    await measureBesideEmpty(options, { question, asked, cleanup });
  });
