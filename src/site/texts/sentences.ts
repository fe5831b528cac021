/**
 * Loads the sentences of data/texts, which translators edit. A key such as `daysLeft(days)` names the parameters of its sentence,
 * which contains `{days}`. A sentence can have a form for each value of its first parameter, and `other` for further values.
 */

type Value = string | number | boolean;
type Values<Names extends string> = Names extends `${string}, ${infer Rest}`
  ? [Value, ...Values<Rest>]
  : [Value];

/** The type of the loaded texts: a sentence with parameters is a function that returns a string. */
type Sentences<Written> = {
  readonly [Key in keyof Written as Key extends `${infer Name}(${string}`
    ? Name
    : Key]: Key extends `${string}(${infer Names})`
    ? (...values: Values<Names>) => string
    : Written[Key] extends readonly unknown[] | string
      ? Written[Key]
      : Sentences<Written[Key]>;
};

export function loadSentences<Written extends object>(written: Written): Sentences<Written> {
  return Object.fromEntries(Object.entries(written).map(loadEntry)) as Sentences<Written>;
}

function loadEntry([key, part]: [string, string | Readonly<Record<string, string>>]): [string, unknown] {
  const [, name, names] = /^(\w+)\((.*)\)$/.exec(key) ?? [];
  if (name === undefined || names === undefined)
    return [key, typeof part === "string" || Array.isArray(part) ? part : loadSentences(part)];
  const order = names.split(", ");
  return [
    name,
    (...values: Value[]) => {
      const form = typeof part === "string" ? part : (part[String(values[0])] ?? part.other ?? "");
      return form.replace(/\{(\w+)\}/g, (_, value: string) => String(values[order.indexOf(value)]));
    },
  ];
}
