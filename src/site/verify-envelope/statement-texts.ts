/** What the envelope page says of statements over lists and of the sheet for the wall, in English. */

export const englishStatement = {
  title: (day: string, eligible: number, distinct: number, percent: number) =>
    `Statement on ${day}: ${eligible} of ${distinct} different people eligible (${percent} %)`,
  people: (listed: number, distinct: number) =>
    `Of the ${listed} named by the list, ${distinct} different people. It says nothing of anybody whom the list does not name.`,
  rowTitle: (day: string, isEligible: boolean) =>
    `Row of a statement on ${day}: ${isEligible ? "eligible" : "not eligible"}`,
  row: (row: number, listed: number) => `Row ${row} of the ${listed} on the list, shown without the others.`,
  differing: (count: number) =>
    `${count === 1 ? "1 row stands" : `${count} rows stand`} under another name than the registered one.`,
  list: "List",
  reference: "Reference",
  purpose: "Purpose",
  rows: "The rows",
  head: {
    row: "Row",
    regNo: "Registration number",
    tId: "Teacher id",
    status: "Licence",
    eligible: "Eligible",
    name: "Listed name",
  },
  yes: "yes",
  no: "no",
  matches: "matches",
  differs: "differs",
  none: "not compared",
  nobody: "Nobody has this number",
  make: "Make a sheet for the wall",
  sheet: {
    title: "Licensed teachers",
    lead: (issuer: string, time: string) => `Stated and signed by ${issuer} on ${time}.`,
    rows: "Registration numbers of those who are eligible",
    says: "Only who is eligible stands here. The sheet proves nothing by itself: ask for the statement's file, and open it at the address below.",
    fileTitle: (list: string, day: string) => `Licensed teachers ${list}, ${day}`,
  },
};
