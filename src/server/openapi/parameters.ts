import * as v from "valibot";
import { idempotencyKeySchema, leafHashSchema, type requestSchemas, searchTermSchema } from "../requests.ts";
import * as examples from "./examples.ts";

type Parameter = {
  readonly name: string;
  readonly in: "query" | "path" | "header";
  /** A header may always be left out. */
  readonly isOptional?: true;
  readonly description: string | undefined;
  /** The published name of its schema; none of what HTTP itself says. */
  readonly schema?: keyof typeof requestSchemas;
  readonly example: string | number | undefined;
};

/** The parameters of calls, by the name under which operations refer to them. */
export const parameters = {
  searchTerm: {
    name: "searchTerm",
    in: "query",
    description: v.getMetadata(searchTermSchema).description,
    schema: "SearchTerm",
    example: examples.regNo,
  },
  regNo: {
    name: "regNo",
    in: "path",
    description:
      "Registration number with its slashes percent-encoded (`%2F`); they are also taken as they are.",
    schema: "RegNo",
    example: examples.regNo,
  },
  tId: { name: "tId", in: "path", description: "Teacher id.", schema: "TId", example: examples.tId },
  leafHash: {
    name: "leafHash",
    in: "path",
    description: v.getMetadata(leafHashSchema).description,
    schema: "LeafHash",
    example: examples.leafHash,
  },
  size: {
    name: "size",
    in: "query",
    isOptional: true,
    description:
      "Size of the checkpoint that the proof is to lead to. Without it, it is the earliest one that covers the leaf, " +
      "and the answer stays the same for ever.",
    schema: "TreeSize",
    example: undefined,
  },
  from: {
    name: "from",
    in: "query",
    description: "Size of the smaller tree: of a checkpoint that you have kept.",
    schema: "TreeSize",
    example: examples.consistency.from,
  },
  to: {
    name: "to",
    in: "query",
    description: "Size of the larger tree, at most that of the newest checkpoint.",
    schema: "TreeSize",
    example: examples.consistency.to,
  },
  idempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    description: v.getMetadata(idempotencyKeySchema).description,
    schema: "IdempotencyKey",
    example: undefined,
  },
  ifNoneMatch: {
    name: "If-None-Match",
    in: "header",
    description: "The `ETag` of the copy at hand.",
    example: '"gvIYSZwWV5TBkV2dJb5C1uGm2lI"',
  },
} as const satisfies Record<string, Parameter>;
