import type { Figures } from "./figures.ts";

export type BenchOptions = {
  readonly figures: Figures;
  /** What is compared takes turns within each round. */
  readonly rounds: number;
  readonly isQuick: boolean;
};

export type Bench = (options: BenchOptions) => Promise<void>;
