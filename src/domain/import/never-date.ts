/** Dates that other systems write where there is none. */

/** A date with its year first or last, perhaps with a time of day. */
const numeric =
  /^(?:(?<year>\d{4})[-/. ](?<one>\d{1,2})[-/. ](?<two>\d{1,2})|(?<three>\d{1,2})[-/. ](?<four>\d{1,2})[-/. ](?<end>\d{4}))(?:[ T].{0,20})?$/;

/** Years in which no teacher was licensed, which are the first or last of a calendar of some program. */
const isOutside = (year: number) => year < 1902 || year >= 2900;
/** 1 January 1970, and the days before and behind the first of a spreadsheet's calendar of 1904. */
const isFirst = (year: number, day: string) => (year === 1970 || year === 1904) && day === "1 1";

/** Whether a date stands for none: `0000-00-00`, `1900-01-01`, `31/12/9999` and the like. */
export function neverDate(cell: string): boolean {
  const found = numeric.exec(cell.slice(0, 40))?.groups;
  if (found === undefined) return false;
  const year = Number(found.year ?? found.end);
  const day = [found.one ?? found.three, found.two ?? found.four].map(Number).join(" ");
  return day.split(" ").includes("0") || isOutside(year) || isFirst(year, day);
}
