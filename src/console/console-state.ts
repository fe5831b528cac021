import type { BlindIndex } from "../domain/blind-index.ts";
import { quoteShellWord } from "../domain/plain-text.ts";
import type { CurrentMetrics, MetricsSources } from "../metrics/exposition.ts";
import type { ChangeStore } from "../store/changes.ts";
import type { AttestationStore } from "../store/evidence/attestations.ts";
import type { ImportHistory } from "../store/imports.ts";
import type { TeacherStore } from "../store/teachers.ts";
import type { WebhookStore } from "../store/webhooks.ts";

/** The sources of the console's data: the stores of the register, and the sources of the metrics. */
export type ConsoleSources = MetricsSources & {
  readonly teachers: TeacherStore;
  readonly blindIndex: BlindIndex;
  readonly attestations: AttestationStore;
  readonly webhooks: WebhookStore;
  readonly changes: ChangeStore;
  readonly imports: ImportHistory;
  /** Makes a shell command from `tvs`, the given words, and the options that name the service's data. */
  readonly commandLine: (words: string) => string;
};

/** The data of the console's first page: the current metrics, and the function that writes commands. */
export type ConsoleState = CurrentMetrics & Pick<ConsoleSources, "commandLine">;

/** Makes the function `commandLine`. @param options the words after each command, such as `["--data", "/srv/tvs"]` */
export function createCommandFormatter(options: readonly string[]): ConsoleSources["commandLine"] {
  const suffix = options.map((word) => ` ${quoteShellWord(word)}`).join("");
  return (words) => `tvs ${words}${suffix}`;
}
