import type { BlindIndex } from "../domain/blind-index.ts";
import { quoteShellWord } from "../domain/plain-text.ts";
import type { CurrentMetrics, MetricsSources } from "../metrics/exposition.ts";
import type { ChangeStore } from "../store/changes.ts";
import type { AttestationStore } from "../store/evidence/attestations.ts";
import type { ImportHistory } from "../store/imports.ts";
import type { TeacherStore } from "../store/teachers.ts";
import type { WebhookStore } from "../store/webhooks.ts";

/** What the console's pages read: the sources of the metrics, and the stores of the register. */
export type ConsoleSources = MetricsSources & {
  readonly teachers: TeacherStore;
  readonly blindIndex: BlindIndex;
  readonly attestations: AttestationStore;
  readonly webhooks: WebhookStore;
  readonly changes: ChangeStore;
  readonly imports: ImportHistory;
  /** Makes a shell command of `tvs`, the given words, and the options that name the service's data. */
  readonly commandLine: (words: string) => string;
};

/** What the console's first page shows: one reading of the metrics, and the way to write commands. */
export type ConsoleState = CurrentMetrics & Pick<ConsoleSources, "commandLine">;

/** Makes the function `commandLine`. @param options its options for every command, such as `["--data", "/srv/tvs"]` */
export function createCommandFormatter(options: readonly string[]): ConsoleSources["commandLine"] {
  const suffix = options.map((word) => ` ${quoteShellWord(word)}`).join("");
  return (words) => `tvs ${words}${suffix}`;
}
