/** What the drivers other than wrk ask for; load.lua asks the same. */

export type Kind = "check" | "batch" | "lookup";
export type Asked = { readonly method: "GET" | "POST"; readonly path: string; readonly body: string };

/** A request for a teacher, or a hundred of them, at random. */
export function randomRequest(kind: Kind, teachers: number): Asked {
  const regNo = () => `TR/2020/LA/${String(1 + Math.floor(Math.random() * teachers)).padStart(6, "0")}`;
  const check = () => ({ identifier: { regNo: regNo() }, purpose: "GENERAL_PUBLIC_VERIFICATION" });
  if (kind === "lookup")
    return { method: "GET", path: `/teacher/verify-license?searchTerm=${regNo()}`, body: "" };
  if (kind === "check")
    return {
      method: "POST",
      path: "/v1/inter-agency/eligibility-check",
      body: JSON.stringify(check()),
    };
  const items = Array.from({ length: 100 }, check);
  return { method: "POST", path: "/v1/inter-agency/batch", body: JSON.stringify({ items }) };
}
