import type { Bench } from "./bench.ts";
import { measureBesideEmpty } from "./beside-empty.ts";
import { planFor, registerSizeFor, serveRegisters } from "./register.ts";
import { withCleanup } from "./setup.ts";

const question = "What does a public look-up cost, beside an answer in which nothing is done?";

/** Public look-ups, and partners about themselves, beside an empty answer. */
export const lookupsBench: Bench = (options) =>
  withCleanup(async (cleanup) => {
    const served = await serveRegisters(options, { teachers: registerSizeFor(options), cleanup });
    const asked = served.flatMap((one) =>
      (["lookup", "self"] as const).map((kind) => ({
        name: kind === "self" ? "GET /me" : "look-up",
        plan: { ...planFor(one), kind },
        isEarlier: one.program.isEarlier,
      })),
    );
    await measureBesideEmpty(options, { question, asked, cleanup });
  });
