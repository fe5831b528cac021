import { expect, test } from "bun:test";
import { createBlindIndex } from "../../../src/domain/blind-index.ts";
import type { PageRequest, TeacherFilter, TeacherPage } from "../../../src/domain/teachers/list.ts";
import { findTeachers, listTeachers } from "../../../src/domain/teachers/list.ts";
import { createNameMatcher } from "../../../src/domain/teachers/name-search.ts";
import { lagos } from "../../harness/clock.ts";
import { catchError } from "../../harness/rejection.ts";
import { type TestStores, withStores } from "../../harness/store.ts";

const blindIndex = createBlindIndex(new Uint8Array(32).fill(7));
const dependenciesOf = ({ teachers, clock }: TestStores) => ({
  teachers,
  clock,
  calendar: lagos,
  blindIndex,
});

const numbersOf = ({ teachers, next }: TeacherPage) => ({
  numbers: teachers.map(({ regNo }) => regNo),
  next,
});
const listed = async (stores: TestStores, filter: TeacherFilter = {}, page: Partial<PageRequest> = {}) =>
  numbersOf(await listTeachers(dependenciesOf(stores), filter, { limit: 5_000, ...page }));
const found = async (stores: TestStores, term: string, page: Partial<PageRequest> = {}) =>
  numbersOf(await findTeachers(dependenciesOf(stores), term, { limit: 5_000, ...page }));

const numbers = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => `TR/2019/LA/${String(n + from).padStart(6, "0")}`);

test("the list of teachers has each teacher once, in the order of the registration numbers", () =>
  withStores(async (stores) => {
    const all = numbers(1_203);
    await stores.putMany(all.toReversed());
    const seen: string[] = [];
    let after: string | undefined;
    let pages = 0;
    for (let next: string | null = ""; next !== null; pages++) {
      const page = await listed(stores, {}, { limit: 601, ...(after === undefined ? {} : { after }) });
      seen.push(...page.numbers);
      next = page.next;
      after = next ?? undefined;
    }
    expect({ seen, pages }).toEqual({ seen: all, pages: 3 });
  }));

test("a filter finds a few matching teachers among many that do not match", () =>
  withStores(async (stores) => {
    await stores.putMany(numbers(1_100));
    await stores.put("ZZ/1/1/1", { licenseExpiryDate: "2026-05-20", state: "Kano" });
    await stores.put("ZZ/1/1/2", { licenseExpiryDate: "2026-04-30", certificateStatus: "CLAIMED" });
    await stores.put("ZZ/1/1/3", { licenseRevokedOn: "2026-01-01", licenseRevokedBy: "extract" });
    stores.clock.add(1000);
    await stores.put("ZZ/1/1/4", { active: false });
    const { numbers: revoked } = await listed(stores, { license: "REVOKED" });
    const { numbers: expired } = await listed(stores, { license: "EXPIRED", certificate: "CLAIMED" });
    const { numbers: soon } = await listed(stores, { expiresBefore: "2026-06-01" });
    const { numbers: inKano } = await listed(stores, { state: "KANO" });
    const { numbers: changed } = await listed(stores, { changedSince: stores.clock.now() });
    expect({ revoked, expired, soon, inKano, changed }).toEqual({
      revoked: ["ZZ/1/1/3"],
      expired: ["ZZ/1/1/2"],
      soon: ["ZZ/1/1/1", "ZZ/1/1/2"],
      inKano: ["ZZ/1/1/1"],
      changed: ["ZZ/1/1/4"],
    });
  }));

test("a list that reaches its limit of examined teachers returns a short page with the start of the next page", () =>
  withStores(async (stores) => {
    await stores.putMany(numbers(600));
    await stores.put("ZZ/1/1/1", { state: "Kano" });
    const first = await listed(stores, { state: "Kano" }, { maxLooked: 500 });
    expect(first).toEqual({ numbers: [], next: "TR/2019/LA/000499" });
    const second = await listed(stores, { state: "Kano" }, { maxLooked: 500, after: first.next ?? "" });
    expect(second).toEqual({ numbers: ["ZZ/1/1/1"], next: null });
  }));

test("a search term finds the teachers that the public lookup finds, and all teachers who share a contact", () =>
  withStores(async (stores) => {
    const phoneIndex = blindIndex.phone("+2348031234567");
    const ninIndex = blindIndex.nin("12345678901");
    await stores.put("A/1/1/1", { tId: 77, phoneIndex });
    await stores.put("A/1/1/2", { phoneIndex, emailIndex: blindIndex.email("ada@example.org") });
    await stores.put("A/1/1/3", { ninIndex });
    const terms = [" a/1/1/1 ", "77", "08031234567", "Ada@example.org", "12345678901", "78"];
    const answers = await Promise.all(terms.map(async (term) => (await found(stores, term)).numbers));
    const [one, two, three] = ["A/1/1/1", "A/1/1/2", "A/1/1/3"];
    expect(answers).toEqual([[one], [one], [one, two], [two], [three], []]);
  }));

test("the beginning of a registration number finds every number that starts with it", () =>
  withStores(async (stores) => {
    await stores.putMany([...numbers(1_010), "TR/2019/KN/1", "TR/2019/LB/1"]);
    expect((await found(stores, "tr/2019/l")).numbers).toEqual([...numbers(1_010), "TR/2019/LB/1"]);
    const page = await found(stores, "TR/2019/LA/", { limit: 1_009 });
    expect(page.next).toBe("TR/2019/LA/001008");
    expect(await found(stores, "TR/2019/LA/", { after: page.next ?? "" })).toEqual({
      numbers: ["TR/2019/LA/001009"],
      next: null,
    });
  }));

test("the beginning of a name finds names with accents, page by page", () =>
  withStores(async (stores) => {
    await stores.putMany(numbers(2_100), { name: "Bola Adeyemi" });
    await stores.put("A/1/1/1", { name: "Ọlálékan Ṣàngódèyí" });
    await stores.put("Z/1/1/1", { name: "Sangodeyi Okon" });
    expect((await found(stores, "sango")).numbers).toEqual(["A/1/1/1", "Z/1/1/1"]);
    expect(await found(stores, "ADE bola", { limit: 2_100 })).toEqual({
      numbers: numbers(2_100),
      next: null,
    });
    const page = await found(stores, "ade", { limit: 1_000 });
    expect(page).toEqual({ numbers: numbers(1_000), next: "TR/2019/LA/000999" });
    const rest = await found(stores, "ade", { after: page.next ?? "", limit: 2_000 });
    expect(rest).toEqual({ numbers: numbers(1_100, 1_000), next: null });
  }));

test("a search term that can find nobody is refused, and the refusal does not repeat it", () =>
  withStores(async (stores) => {
    for (const term of ["", "  ", "???", "a".repeat(400)]) {
      const error = await catchError(found(stores, term));
      expect(error).toMatchObject({ code: "USAGE" });
      if (term.trim() !== "") expect(String(error)).not.toContain(term);
    }
  }));

test.each([
  ["okafor", "Adaeze Okafor", true],
  ["oka ada", "Adaeze Okafor", true],
  ["kafor", "Adaeze Okafor", false],
  ["dan", "Ɗanjuma Bello", true],
  ["maaruf", "Ma’aruf Sani", true],
  ["ma'aruf", "Maaruf Sani", true],
  ["obi", "Ada-Obi Eze", true],
  ["étim", "Grace ETIM", true],
  ["ọ̀sẹ́", "Ose Bello", true],
  ["ose", "Ọ̀sẹ́ Bello", true],
  ["عبد", "عبد الله", true],
])("whether the search term %s finds the name %s: %p", (term, name, is) => {
  expect(createNameMatcher(term)?.(name)).toBe(is);
});
