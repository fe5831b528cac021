import { describe, expect, test } from "bun:test";
import { listPage } from "../../src/api/list-page.ts";
import { createIterators } from "../../src/domain/iterators.ts";
import { secrets } from "../harness/samples.ts";

const iterators = createIterators(secrets);
const numbers = Array.from({ length: 7 }, (_, index) => index + 1);

/** A page of {@link numbers}, as its body. */
async function pageOf(query: Record<string, string>, { partnerId = "full", list = "numbers" } = {}) {
  const call = { query: (name: string) => query[name] };
  const reply = await listPage<number>(call, { iterators, partnerId, list }, async ({ after, limit }) => {
    const data = numbers.filter((one) => one > (after ?? 0)).slice(0, limit);
    return { data, end: data.at(-1) ?? null, done: (data.at(-1) ?? after) === 7 };
  });
  return JSON.parse(String(reply?.body)) as { data: number[]; iterator: string; done: boolean };
}

describe("a list in pages", () => {
  test("is read to its end, each entry once, and an empty page gives its iterator back", async () => {
    const first = await pageOf({ limit: "4" });
    const last = await pageOf({ limit: "4", after: first.iterator });
    expect([first.data, first.done, last.data, last.done]).toEqual([[1, 2, 3, 4], false, [5, 6, 7], true]);
    expect(await pageOf({ after: last.iterator })).toEqual({ data: [], iterator: last.iterator, done: true });
  });

  test.each(["0", "501", "-1", "1.5", "x", "", "1e999"])("takes no limit of %j", async (limit) => {
    await expect(pageOf({ limit })).rejects.toMatchObject({ code: "REQUEST_INVALID" });
  });

  test("takes no iterator that was not given to this partner for this list", async () => {
    const { iterator } = await pageOf({ limit: "4" });

    for (const after of [
      "",
      "x",
      "4",
      iterator.replace(/^./, (one) => (one === "A" ? "B" : "A")),
      `${"A".repeat(70)}`,
    ])
      await expect(pageOf({ after })).rejects.toMatchObject({ code: "ITERATOR_INVALID" });
    await expect(pageOf({ after: iterator }, { partnerId: "other" })).rejects.toMatchObject({
      code: "ITERATOR_INVALID",
    });
    await expect(pageOf({ after: iterator }, { list: "others" })).rejects.toMatchObject({
      code: "ITERATOR_INVALID",
    });
  });
});
