import type { Operator } from "./open.ts";
export async function prepareSandbox(_operator: Operator, _url: string): Promise<string> { return ""; }
