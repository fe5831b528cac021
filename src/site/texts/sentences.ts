/**
 * The sentences of data/texts/, a folder for each language, which a translator edits. A sentence with values names them in
 * its key, `daysLeft(days)`, and contains each in braces. It may have one form for each value of the first, and `other`.
 */

type Value = string | number | boolean;
type Values<Names extends string> = Names extends `${string}, ${infer Rest}`
  ? [Value, ...Values<Rest>]
  : [Value];

/** The same texts; a sentence with values is a function of the values. */
type Sentences<Written> = {
  readonly [Key in keyof Written as Key extends `${infer Name}(${string}`
    ? Name
    : Key]: Key extends `${string}(${infer Names})`
    ? (...values: Values<Names>) => string
    : Written[Key] extends readonly unknown[] | string
      ? Written[Key]
      : Sentences<Written[Key]>;
};

export function sentences<Written extends object>(written: Written): Sentences<Written> {
  return Object.fromEntries(Object.entries(written).map(said)) as Sentences<Written>;
}

function said([key, part]: [string, string | Readonly<Record<string, string>>]): [string, unknown] {
  const [, name, names] = /^(\w+)\((.*)\)$/.exec(key) ?? [];
  if (name === undefined || names === undefined)
    return [key, typeof part === "string" || Array.isArray(part) ? part : sentences(part)];
  const order = names.split(", ");
  return [
    name,
    (...values: Value[]) => {
      const form = typeof part === "string" ? part : (part[String(values[0])] ?? part.other ?? "");
      return form.replace(/\{(\w+)\}/g, (_, value: string) => String(values[order.indexOf(value)]));
    },
  ];
}
