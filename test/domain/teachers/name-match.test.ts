import { expect, test } from "bun:test";
import { computeEligiblePercentage, matchesRegisteredName } from "../../../src/domain/teachers/roster.ts";

test.each([
  ["case and accents", "NGOZI ADE-BELLO", "Ngozi Adé-Bello"],
  ["letters of other languages", "Sade Dangote", "Ṣadé Ɗangote"],
  ["spaces and hyphens", "Ngozi Ade Bello", "Ngozi  Ade-Bello"],
  ["a double name in one word", "Ngozi AdeBello", "Ngozi Ade-Bello"],
  ["apostrophes", "Shaun O’Neil", "Shaun ONeil"],
  ["the order, with a comma", "Bello, Ngozi", "Ngozi Bello"],
  ["the order", "Bello Ngozi Ada", "Ngozi Ada Bello"],
  ["initials", "N. Bello", "Ngozi Bello"],
  ["several initials", "N.A. Bello", "Ngozi Ada Bello"],
  ["an initial of a name that is left out", "Ngozi A. Bello", "Ngozi Bello"],
  ["a name left out between", "Ngozi Bello", "Ngozi Ada Chidinma Bello"],
  ["names that the register leaves out", "Ngozi Ada Chidinma Bello", "Ngozi Chidinma Bello"],
  ["one name", "ngozi", "Ngozi"],
])("a listed name matches the registered name if they differ in %s", (_name, listed, registered) => {
  expect(matchesRegisteredName(listed, registered)).toBe(true);
  expect(matchesRegisteredName(registered, listed)).toBe(true);
});

test.each([
  ["another person's name", "Chidi Okeke", "Ngozi Bello"],
  ["another family name", "Ngozi Okeke", "Ngozi Bello"],
  ["another initial", "C. Bello", "Ngozi Bello"],
  ["only one of several names", "Chidi", "Chidi Okeke"],
  ["different in a middle name", "Ngozi Uche Bello", "Ngozi Ada Bello"],
  ["in another order of the middle names", "Ngozi Uche Ada Bello", "Ngozi Ada Uche Bello"],
  ["only signs in the register", "Ngozi", "--"],
])("a listed name does not match if it is %s", (_name, listed, registered) => {
  expect(matchesRegisteredName(listed, registered)).toBe(false);
});

test.each(["", "  ", "-", ","])("the listed text %p is not compared as a name", (listed) => {
  expect(matchesRegisteredName(listed, "Ngozi Bello")).toBeNull();
});

test.each([
  [2, 3, 66.6],
  [3, 3, 100],
  [0, 3, 0],
  [0, 0, 0],
])("%i eligible of %i rows are %f percent, rounded down", (eligible, rows, percent) => {
  expect(computeEligiblePercentage(eligible, rows)).toBe(percent);
});
