import { expect, test } from "bun:test";
import { type DamageKind, findDamage } from "../../../src/domain/import/suspect-text.ts";

// biome-ignore format: a list reads better in rows
const names = [
  "Ṣadé Adébáyọ̀", "Òlú Ọládọ̀tun", "O'Neil", "Ó’Neill", "N'Golo Kanté", "N’GUESSAN ANDRÉ", "RENÉ’S SCHOOL",
  "Null", "Ada Null", "NULLAM BISI", "Nan Xi", "Na", "Nil", "François Noël", "FRANÇOIS NOËL", "CAFÉ–BAR",
  "CAFÉ—BAR", "NESTLÉ® SCHOOL", "KŘÍŽ ÚŽASNÝ", "GALÍŠ", "Åse Ødegård", "ÅSE ØDEGÅRD", "São João", "SÃO JOÃO",
  "MAÇÃ", "Große Straße", "«José»", "“Zoé”", "“José”…", "Haɗejia Ɓala Ƙaura", "محمد عبد الله", "سعيد؟",
  "Şükrü Ağaoğlu İnci", "Nguyễn Thị Ánh", "Ìyá Ìbàdàn", "Ìyábọ̀ Àdìó", "Salt & Pepper", "Marks&Spencer",
  "AT&T; others", "Decision 0 of 2024", "10", "Nasarawa", "Non-formal", "A", "Nanna",
  "see https://tribunal.example/case?id=4",
];

/** Decodes UTF-8 as Windows-1252. */
const misread = (text: string) => new TextDecoder("windows-1252").decode(new TextEncoder().encode(text));

test.each(names)("the text %s is not reported as damaged", (name) => {
  expect(findDamage(name)).toBeNull();
  expect(findDamage(name.normalize("NFD"))).toBeNull();
});

// biome-ignore format: a list reads better in rows
test.each<[DamageKind, string[]]>([
  ["NULL_WORD", [
    "NULL", "null", " null ", "\\N", "(null)", "(NULL)", "<null>", "[NULL]", "N/A", "n/a", "N / A", "n.a.",
    "#N/A", "#NULL!", "nan", "NaN", "NAN", "NA", "None", "NONE", "nil", "undefined", "0", "0.0", "-", "--",
  ]],
  ["HTML_ENTITY", [
    "Madeup O&#039;Person", "A &amp; B", "Ad&eacute; P", "x&#xE9;y", "O&#39;Neil", "&nbsp;Ada",
    "L&rsquo;Avenir", "Ren&#233",
  ]],
  ["QUESTION_MARK", ["Ad?bayo", "?lad?p? Ad?bay?", "Madeup ?ad? Person", "Ren?", "??????", "Ad¿bayo", "?"]],
  ["REPLACEMENT_CHARACTER", ["Ad\ufffdbayo"]],
  ["MOJIBAKE", [misread(misread("Adé")), misread("Adọla").replace(/[\x80-\x9f]/g, "")]],
])("the damage %s is found in each of the texts %j", (kind, texts) => {
  expect(texts.map((text) => [text, findDamage(text)])).toEqual(texts.map((text) => [text, kind]));
});

// biome-ignore format: a list reads better in rows
test.each([
  "Adébáyọ", "François", "FRANÇOIS", "ADÉBAYO", "Òlú", "Ọlá", "Ṣadé", "İnci", "Şule", "Ağa", "Haɗejia",
  "ɗan Fodio", "Ƙaura", "Rena’s", "Ada – Obi", "محمد", "ẹ̀kọ́", "Ada \ufffd", "A\u0301da", "Großmann",
  "Nguyễn",
])("the name %s is reported as mojibake if its UTF-8 was read as Windows-1252", (name) => {
  expect(findDamage(misread(name))).toBe("MOJIBAKE");
});

test("every name with a letter beyond ASCII is reported if its UTF-8 was read as Windows-1252", () => {
  const letters = [..."éèêëàáâäòóôöùúûüçñìíîïẹọṣẸỌṢńǹḿÀÁÈÉÌÍÒÓÙÚƙƴşğıİ"];
  for (const letter of letters)
    for (const name of [`Ad${letter}bayo`, `${letter}bayo`, `Bisi ${letter}bayo`, `Ad${letter}`])
      expect([name, findDamage(misread(name))]).toEqual([name, "MOJIBAKE"]);
});

test("no name of letters, in upper or lower case, is reported as damaged", () => {
  const letters = [..."aeioubdgklmnrstyéèêëàáâäòóôöùúûçìíîẹọṣńǹñƙɓɗ"];
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return Math.floor((seed / 2147483648) * below);
  };
  for (let run = 0; run < 20_000; run++) {
    const word = Array.from({ length: 4 + random(8) }, () => letters[random(letters.length)]).join("");
    const title = word.replace(/^./u, (first) => first.toUpperCase());
    for (const name of [word, title, word.toUpperCase(), `${title}’${word}`, `${title} “${title}”`])
      expect([name, findDamage(name)]).toEqual([name, null]);
  }
});
