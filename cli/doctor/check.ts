/** One finding of `tvs doctor`. */
export type Check = {
  /** Stable, for scripts. */
  readonly name: string;
  /** `warn` works, but not as it should; `fail` does not work. */
  readonly result: "ok" | "warn" | "fail";
  readonly found: string;
  /** What to do, or what could be done; null when there is nothing to say. */
  readonly advice: string | null;
};

export function ok(name: string, found: string): Check {
  return { name, result: "ok", found, advice: null };
}

/** Nothing is wrong, but something could be better. */
export function hint(name: string, found: string, advice: string): Check {
  return { name, result: "ok", found, advice };
}

export function warn(name: string, found: string, advice: string): Check {
  return { name, result: "warn", found, advice };
}

export function fail(name: string, found: string, advice: string): Check {
  return { name, result: "fail", found, advice };
}
