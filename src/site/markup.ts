import type { html } from "hono/html";

/** HTML whose values were escaped where they were put in (`html` of hono/html). */
export type Markup = ReturnType<typeof html>;
