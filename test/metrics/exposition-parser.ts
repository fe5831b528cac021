/** Reads the Prometheus text exposition format 0.0.4, and throws at a line that is not of that format. */

export type ParsedSample = {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
};
export type ParsedFamily = { readonly help: string; readonly type: string; readonly samples: ParsedSample[] };

const sampleLine = /^([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)$/;

export function parseExposition(text: string): Map<string, ParsedFamily> {
  const families = new Map<string, ParsedFamily>();
  let help = "";
  for (const line of text.split("\n").filter((one) => one !== "")) {
    const [, kind, name = "", said = ""] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (kind === "HELP") help = said;
    else if (kind === "TYPE") families.set(name, { help, type: said, samples: [] });
    else [...families.values()].at(-1)?.samples.push(parseSample(line));
  }
  return families;
}

function parseSample(line: string): ParsedSample {
  const [, name, labelText = "", value = ""] = sampleLine.exec(line) ?? [];
  if (name === undefined) throw new Error(`not a sample: ${line}`);
  const labels = [...labelText.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, is]) => [label, is]);
  return { name, labels: Object.fromEntries(labels), value: Number(value.replace("Inf", "Infinity")) };
}
