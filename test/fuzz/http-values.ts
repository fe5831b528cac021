/** Draws values by the schemas of the OpenAPI document, and odd values. */

import fc from "fast-check";
import { resolve } from "../api/openapi/document.ts";
import { knownTeacher, legacyTeacher } from "../harness/service.ts";

/** The parts of a JSON schema that requests use. */
export type Schema = {
  readonly $ref?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly { readonly required: readonly string[] }[];
  readonly type?: string;
  readonly pattern?: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
} & {
  readonly [limit in "minLength" | "maxLength" | "minimum" | "maximum" | "minItems" | "maxItems"]?: number;
};

/** Kinds of placeholders: the n-th delivery, cursor, leaf hash or ETag of the register under test. */
export type PlaceholderKind = "deliveryId" | "iterator" | "leafHash" | "etag";
export const drawPlaceholder = (kind: PlaceholderKind) => fc.nat(9).map((n) => `(${kind}.${n})`);

const otherRegNos = ["  la / 2019/pri/ 04417", "A/B/C/D", "TR/2019/LA/000001"];
const regNos = [knownTeacher.regNo, legacyTeacher.regNo, ...otherRegNos];
const tIds = [knownTeacher.tId, legacyTeacher.tId, 0, Number.MAX_SAFE_INTEGER];
const contacts = ["x@y.example", "+2348012345678", "0801 234 5678"];
/** Its first digits make it recognisable in answers. */
const strangersNin = fc.integer({ min: 0, max: 99_999_999 }).map((n) => `778${String(n).padStart(8, "0")}`);
const anyNin = fc.oneof(fc.constant(knownTeacher.nin), strangersNin);
export const isNin = (text: string) => text === knownTeacher.nin || /^778\d{8}$/.test(text);

/** Texts that programs often handle wrongly. */
export const oddText = fc.oneof(
  fc.constantFrom(
    ...["", " ", "\u0000", "a\u0000b", "\ud800", "\udc00x", "\u202e", "\ufeff", "e\u0301", "\u{1f600}"],
    ...".. %00 %2F %ff % \\ ' \" <b> {} __proto__ constructor null -1 1e400 0x10 1_000 NaN $1 \u0669\u0669".split(
      " ",
    ),
    ...["9".repeat(400), "a".repeat(255), "a".repeat(256), "; DROP TABLE teachers", "\r\nX: y"],
  ),
  fc.string({ unit: "binary", maxLength: 30 }),
  fc.string({ unit: "grapheme", maxLength: 30 }),
);
const oddRegNo = fc
  .array(oddText, { minLength: 4, maxLength: 4, size: "max" })
  .map((parts) => parts.join("/"));

/** Values that are useful for a schema or member, by its name. */
const telling: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  RegNo: fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...regNos) }, oddRegNo),
  TId: fc.oneof(fc.constantFrom(...tIds), fc.maxSafeNat()),
  Nin: anyNin,
  SearchTerm: fc.oneof(
    fc.constantFrom(...regNos, String(knownTeacher.tId), ...contacts, "LA-2019-PRI-04417."),
    anyNin,
    fc.string({ minLength: 1, unit: "grapheme" }).filter((text) => /\S/.test(text)),
  ),
  LeafHash: fc.oneof(drawPlaceholder("leafHash"), fc.stringMatching(/^[0-9a-f]{64}$/)),
  TreeSize: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })),
  deliveryId: drawPlaceholder("deliveryId"),
  after: drawPlaceholder("iterator"),
  "If-None-Match": fc.oneof(drawPlaceholder("etag"), fc.constantFrom("*", "W/*", '"x", W/"y"')),
  list: fc.oneof(fc.constantFrom(0, 1, 2), fc.nat()),
};

const memo = new Map<string, fc.Arbitrary<unknown>>();

/** Draws a valid value. @param name the member's or parameter's name */
export function drawValidValue(schema: Schema, name = ""): fc.Arbitrary<unknown> {
  const telltale = telling[/\w+$/.exec(schema.$ref ?? "")?.[0] ?? name];
  if (telltale !== undefined) return telltale;
  if (schema.$ref !== undefined) {
    const made = memo.get(schema.$ref) ?? drawValidValue(resolve(schema.$ref) as Schema);
    memo.set(schema.$ref, made);
    return made;
  }
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((one) => drawValidValue(one)));
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  return byType(schema);
}

function byType(schema: Schema): fc.Arbitrary<unknown> {
  const { type, minLength = 0, maxLength = 40, minItems = 0, maxItems = 9 } = schema;
  const { minimum = 0, maximum = 2 ** 31 } = schema;
  if (type === "integer") return fc.integer({ min: minimum, max: maximum });
  if (type === "array") {
    const item = drawValidValue(schema.items ?? {});
    // Each element of a batch is signed, which takes time.
    return fc.array(item, { minLength: minItems, maxLength: Math.min(maxItems, 9), size: "-1" });
  }
  if (type === "string")
    return schema.pattern === undefined
      ? fc.string({ minLength, maxLength, unit: "grapheme" })
      : fc.stringMatching(new RegExp(schema.pattern));
  const { properties = {}, required = [], oneOf } = schema;
  const members = Object.entries(properties).map(([name, of]) => [name, drawValidValue(of, name)] as const);
  const record = (requiredKeys: readonly string[], but: readonly string[]) =>
    fc.record(Object.fromEntries(members.filter(([name]) => !but.includes(name))), {
      requiredKeys: [...requiredKeys],
      noNullPrototype: true,
    });
  if (oneOf === undefined) return record(required, []);
  const choices = oneOf.flatMap((one) => one.required);
  const withOnly = (one: string) => {
    const others = choices.filter((other) => other !== one);
    return record([...required, one], others);
  };
  return fc.oneof(...choices.map(withOnly));
}

export const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  oddText,
  anyNin,
  fc.constantFrom(null, true, 0, -0, -1, 1.5, 2 ** 53, 2 ** 63, 1e308, 1e-320, {}, [], [[]], [null], [{}]),
  fc.jsonValue({ maxDepth: 3, stringUnit: "binary" }),
);
