// Node 20 or later, Bun, Deno or a browser; nothing to install.
const headers = new Headers();
headers.set("NAME", "VALUE");
const response = await fetch("ADDRESS", {
  method: "METHOD",
  headers,
  body: `BODY`,
});
console.log(response.status, await response.text());
