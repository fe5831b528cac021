import { expect, test } from "bun:test";
import { Hono } from "hono";
import { batchCheckSchema, eligibilityCheckSchema, ninLookupSchema } from "../../src/api/requests.ts";
import type { HonoEnv } from "../../src/http/context.ts";
import { readJsonBody, validateBySchema } from "../../src/http/request-body.ts";
import type { ApiErrorCode } from "../../src/partner/error-codes.ts";

async function read(body: BodyInit | null): Promise<unknown> {
  const app = new Hono<HonoEnv>().post("/", async (c) =>
    c.json(await readJsonBody(c, ninLookupSchema).catch(({ code, message }) => ({ code, message }))),
  );
  return (await app.request("/", { method: "POST", body })).json();
}

const twice = { code: "BODY_NOT_JSON", message: "the body has a member twice" };
const notJson = { code: "BODY_NOT_JSON", message: "the body must be JSON in UTF-8" };

test("readJsonBody returns the checked value, and the unchanged body with its unknown members", async () => {
  expect(await read('{"nin":"12345678901","x":[1]}')).toEqual({
    value: { nin: "12345678901" },
    raw: { nin: "12345678901", x: [1] },
  });
});

// partner/strict-json.test.ts has every kind of malformed JSON.
test.each<[string, BodyInit | null, object]>([
  ["nothing", null, notJson],
  ["form data", "nin=12345678901", notJson],
  ["two JSON values", "{} {}", notJson],
  ["Latin-1", new Uint8Array([0x22, 0xe9, 0x22]), notJson],
  ["UTF-16", new Uint8Array([0xff, 0xfe, 0x7b, 0, 0x7d, 0]), notJson],
  ["a member twice", '{"nin":"12345678901","n\\u0069n":"12345678902"}', twice],
])("a request body of %s is refused, without repeating its values", async (_what, body, refusal) => {
  expect(await read(body)).toEqual(refusal);
});

test("a request body that is nested too deeply is refused", async () => {
  const nested = (depth: number) => `{"nin":"12345678901","x":${"[".repeat(depth)}${"]".repeat(depth)}}`;
  expect(await read(nested(31))).toMatchObject({ value: { nin: "12345678901" } });
  for (const depth of [32, 100_000])
    expect(await read(nested(depth))).toMatchObject({ message: expect.stringContaining("too deeply") });
});

function messageOf(
  schema: Parameters<typeof validateBySchema>[0],
  value: unknown,
  code: ApiErrorCode = "REQUEST_INVALID",
): string {
  try {
    validateBySchema(schema, value);
  } catch (error) {
    expect(error).toMatchObject({ code });
    return (error as Error).message;
  }
  throw new Error("it was accepted");
}

const item = (identifier: unknown) => ({ identifier, purpose: "EMPLOYER_BACKGROUND_CHECK" });
const good = item({ tId: 1 });
const exactlyOne = "identifier must have exactly one of regNo, tId, nin";
const fourSegments = "identifier.regNo must have four segments separated by /";

test.each<[string, unknown, string]>([
  ["a body that is not an object", null, "the body must be an object"],
  ["a missing identifier", { purpose: good.purpose }, "identifier is required"],
  ["a missing purpose", { identifier: { tId: 1 } }, "purpose is required"],
  ["an identifier without a member", item({}), exactlyOne],
  ["an identifier with two members", item({ tId: 1, nin: "12345678901" }), exactlyOne],
  ["an identifier with two members, one of them wrong", item({ tId: 1, nin: "1" }), exactlyOne],
  ["an identifier with two members, one of them null", item({ regNo: null, tId: 1 }), exactlyOne],
  ["a member in lower case", item({ regno: "A/B/C/1" }), `${exactlyOne}; did you mean regNo?`],
  ["an identifier that is text", item("A/B/C/1"), "identifier must be an object"],
  ["a short NIN", item({ nin: "1234567890" }), "identifier.nin must be 11 digits"],
  ["a NIN as a number", item({ nin: 12_345_678_901 }), "identifier.nin must be 11 digits"],
  ["a NIN with a line break", item({ nin: "12345678901\n" }), "identifier.nin must be 11 digits"],
  ["a NIN in non-ASCII digits", item({ nin: "١٢٣٤٥٦٧٨٩٠١" }), "identifier.nin must be 11 digits"],
  ["a teacher id as text", item({ tId: "7" }), "identifier.tId must be a whole number"],
  ["a negative teacher id", item({ tId: -7 }), "identifier.tId must be a whole number"],
  ["a teacher id beyond 2^53", item({ tId: 2 ** 53 }), "identifier.tId must be a whole number below 2^53"],
  ["a registration number of three segments", item({ regNo: "LA/2019/PRI" }), fourSegments],
  ["a registration number with a NUL", item({ regNo: "LA/2019/PRI/1\0" }), fourSegments],
  ["a context that is text", { ...good, context: "x" }, "context must be an object"],
  ["a number in the context", { ...good, context: { examBatch: 7 } }, "context.examBatch must be text"],
  ["null as context", { ...good, context: { correlationId: null } }, "context.correlationId must be text"],
])("the refusal of a wrong member names it without repeating its value: %s: %j", (_what, value, message) => {
  expect(messageOf(eligibilityCheckSchema, value)).toBe(message);
});

test("the refusal of an unknown purpose lists the known ones", () => {
  const message = messageOf(eligibilityCheckSchema, { ...good, purpose: "SECRET_VALUE" }, "PURPOSE_UNKNOWN");
  expect(message).toStartWith("purpose must be one of BODYA_INVIGILATOR_ELIGIBILITY, ");
  expect(message).not.toContain("SECRET_VALUE");
});

const three = [good, good, good];
test.each<[unknown, string, ApiErrorCode]>([
  [{}, "items is required", "REQUEST_INVALID"],
  [{ items: {} }, "items must be an array", "REQUEST_INVALID"],
  [{ items: [] }, "items must have 1 to 100 elements", "BATCH_SIZE"],
  [{ items: new Array(101).fill(good) }, "items must have 1 to 100 elements", "BATCH_SIZE"],
  [{ items: [good, null] }, "items[1] must be an object", "REQUEST_INVALID"],
  [{ items: [...three, item({ nin: "x" })] }, "items[3].identifier.nin must be 11 digits", "REQUEST_INVALID"],
  [{ items: [good, { ...good, purpose: undefined }] }, "items[1].purpose is required", "REQUEST_INVALID"],
])("the refusal of a wrong batch item names the item's index: case %#", (value, message, code) => {
  expect(messageOf(batchCheckSchema, value, code)).toBe(message);
});
