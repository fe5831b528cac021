/** Reads the Prometheus text exposition format 0.0.4, and throws at whatever is not exactly that. */

export type ParsedSample = {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
};
export type ParsedFamily = {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly samples: ParsedSample[];
};

const sampleLine =
  /^([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Inf)|\+Inf|NaN)$/;

export function parseExposition(text: string): Map<string, ParsedFamily> {
  if (!text.endsWith("\n")) throw new Error("the last line has no end");
  const families = new Map<string, ParsedFamily>();
  let help: { name: string; text: string } | undefined;
  let current: ParsedFamily | undefined;
  for (const line of text.split("\n").filter((one) => one !== "")) {
    const helpMatch = /^# HELP (\S+) (.+)$/.exec(line);
    const typeMatch = /^# TYPE (\S+) (counter|gauge|histogram|summary|untyped)$/.exec(line);
    if (helpMatch !== null) help = { name: helpMatch[1] ?? "", text: helpMatch[2] ?? "" };
    else if (typeMatch !== null) {
      const [, name = "", type = ""] = typeMatch;
      if (help?.name !== name) throw new Error(`${name} has no HELP before its TYPE`);
      if (families.has(name)) throw new Error(`${name} comes twice`);
      current = { name, help: help.text, type, samples: [] };
      families.set(name, current);
    } else current?.samples.push(parseSample(line, current)) ?? fail(line);
  }
  for (const family of families.values()) check(family);
  return families;
}

function fail(line: string): never {
  throw new Error(`not in any family: ${line}`);
}

function parseSample(line: string, { name: family, type }: ParsedFamily): ParsedSample {
  const match = sampleLine.exec(line);
  if (match === null) throw new Error(`not a sample: ${line}`);
  const [, name = "", labelText = "", value = ""] = match;
  const suffixes = type === "histogram" ? ["_bucket", "_sum", "_count"] : [""];
  if (!suffixes.some((suffix) => name === family + suffix)) throw new Error(`${name} stands below ${family}`);
  const labels = [...labelText.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)].map(
    ([, label = "", text = ""]) => [label, text],
  );
  return { name, labels: Object.fromEntries(labels), value: Number(value.replace("Inf", "Infinity")) };
}

/** No series twice; a histogram's buckets grow, and the last one is its count. */
function check({ name, type, samples }: ParsedFamily): void {
  const series = samples.map((one) => `${one.name}${JSON.stringify(one.labels)}`);
  if (new Set(series).size !== series.length) throw new Error(`${name} has a series twice`);
  if (type === "counter" && !name.endsWith("_total")) throw new Error(`${name} is a counter without _total`);
  if (type !== "histogram") return;
  const last = new Map<string, { below: number; le: number }>();
  for (const { name: own, labels, value } of samples) {
    const { le, ...others } = labels;
    const key = JSON.stringify(others);
    const before = last.get(key);
    if (own.endsWith("_bucket")) {
      const bound = le === "+Inf" ? Number.POSITIVE_INFINITY : Number(le);
      if (before !== undefined && (value < before.below || bound <= before.le))
        throw new Error(`${name} shrinks`);
      last.set(key, { below: value, le: bound });
    } else if (own.endsWith("_count")) {
      if (before?.le !== Number.POSITIVE_INFINITY || before.below !== value)
        throw new Error(`${name} miscounts`);
    }
  }
}
