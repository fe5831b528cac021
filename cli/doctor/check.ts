/** One finding of `tvs doctor`. */
export type Check = {
  /** Stable, for scripts. */
  readonly name: string;
  /** `warn` works, but not as it should; `fail` does not work. */
  readonly result: "ok" | "warn" | "fail";
  readonly found: string;
  /** What to do; null when there is nothing to fix. */
  readonly advice: string | null;
};

export function ok(name: string, found: string): Check {
  return { name, result: "ok", found, advice: null };
}

export function warn(name: string, found: string, advice: string): Check {
  return { name, result: "warn", found, advice };
}

export function fail(name: string, found: string, advice: string): Check {
  return { name, result: "fail", found, advice };
}
