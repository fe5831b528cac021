/** Formatters are dear to make and few: one for each language, zone and form. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(locale: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = JSON.stringify([locale, options]);
  let format = formats.get(key);
  if (format === undefined) {
    format = new Intl.DateTimeFormat(locale, options);
    formats.set(key, format);
  }
  return format;
}

/** A calendar date in words: `2092-02-29` is "29 February 2092". */
export function dateInWords(date: string, locale: string): string {
  // The date is a day and no moment: it is read and written in one zone, so that it stays the same day.
  const options = { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" } as const;
  return formatOf(locale, options).format(Date.parse(`${date}T00:00:00Z`));
}

/**
 * A moment in words, to the second, in the operator's time zone, which is named.
 * @param time ISO 8601
 */
export function timeInWords(time: string, locale: string, timeZone: string): string {
  const options = {
    day: "numeric",
    month: "long",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
    timeZone,
    timeZoneName: "long",
  } as const;
  return `${formatOf(locale, options).format(Date.parse(time))} (${timeZone})`;
}
