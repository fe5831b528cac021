import type { Figures } from "./figures.ts";
import type { Programs } from "./programs.ts";

export type BenchOptions = {
  readonly figures: Figures;
  readonly programs: Programs;
  /** What is compared takes turns within each round. */
  readonly rounds: number;
  readonly isQuick: boolean;
  /** Part of 5,000,000 teachers and 50,000,000 attestations that the growth bench makes. */
  readonly growthScale: number;
};

export type Bench = (options: BenchOptions) => Promise<void>;
