/** A finding about the service or the machine under it: `tvs doctor` shows all of them, the console what is not well. */
export type Check = {
  /** Stable, for scripts. */
  readonly name: string;
  /** `warn` works, but not as it should; `fail` does not work, and is doctor's exit code. */
  readonly result: "ok" | "warn" | "fail";
  readonly found: string;
  /** What to do, or what could be done; null when there is nothing to say. */
  readonly advice: string | null;
  /** The words of the command that does it or shows more, behind `tvs`; null where none does. */
  readonly command: readonly string[] | null;
  /** Somebody outside is affected already, so that it comes first where a service is watched. */
  readonly isUrgent: boolean;
};

type More = { advice?: string | null; command?: readonly string[]; isUrgent?: boolean };

function found(result: Check["result"]) {
  return (name: string, text: string, more: string | More = {}): Check => {
    const {
      advice = null,
      command = null,
      isUrgent = false,
    } = typeof more === "string" ? { advice: more } : more;
    return { name, result, found: text, advice, command, isUrgent };
  };
}

/** Nothing is wrong; with advice, something could be better. */
export const ok = found("ok");
export const warn = found("warn");
export const fail = found("fail");

/** The findings of one check, for who makes no other. */
export function checkNamed(name: string) {
  const named = (make: typeof ok) => (text: string, more?: string | More) => make(name, text, more);
  return { ok: named(ok), warn: named(warn), fail: named(fail) };
}
