/**
 * The one style sheet of the pages: one column, large type, high contrast, light and dark by the reader's own
 * setting, and on paper only what was answered. System fonts, because a font would weigh more than the page.
 */
export const pageStyle = `
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #14181c; --soft: #4a5560; --line: #b4bcc4; --quiet: #f2f4f6;
  --link: #0b4f9c; --focus: #ffd400; --on-focus: #14181c;
  --brand: #0a4d36; --on-brand: #ffffff; --button: #0a6b48; --button-edge: #04402a; --on-button: #ffffff;
  --good: #0a6b48; --good-wash: #e8f4ee; --warn: #8a4b00; --warn-wash: #fdf3e2;
  --bad: #a3211b; --bad-wash: #fceceb; --none: #3f4b57; --none-wash: #eef1f4;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14181c; --ink: #f1f4f6; --soft: #b8c2cb; --line: #56626d; --quiet: #1e242a;
    --link: #8cc4ff; --brand: #0a3d2b; --button: #7fdcb2; --button-edge: #2f8a62; --on-button: #0b1a13;
    --good: #7fdcb2; --good-wash: #12291f; --warn: #ffc46b; --warn-wash: #2f2412;
    --bad: #ff9f98; --bad-wash: #331a19; --none: #c3ccd4; --none-wash: #222a31;
  }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; min-height: 100vh; display: flex; flex-direction: column; background: var(--paper); color: var(--ink);
  font: 1.1875rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", Arial, sans-serif;
  overflow-wrap: break-word;
}
.width { width: 100%; max-width: 46rem; margin: 0 auto; padding-left: 1rem; padding-right: 1rem; }
a { color: var(--link); text-underline-offset: .15em; }
a:hover { text-decoration-thickness: .15em; }
a:focus-visible, summary:focus-visible, [tabindex]:focus-visible {
  outline: 3px solid transparent; background: var(--focus); color: var(--on-focus);
  box-shadow: 0 4px var(--on-focus); text-decoration: none;
}
.skip { position: absolute; left: 0; top: 0; padding: .5rem 1rem; transform: translateY(-110%); }
.skip:focus { transform: none; }
header { background: var(--brand); color: var(--on-brand); }
header .width { display: flex; align-items: center; gap: .6rem; padding-top: .8rem; padding-bottom: .8rem; }
header svg { flex: none; width: 1.9rem; height: 1.9rem; }
header .tick { stroke: var(--brand); }
.logo { flex: none; width: auto; height: auto; max-width: min(9rem, 35vw); max-height: 3rem; padding: .2rem; background: #fff; }
header a { min-width: 0; overflow-wrap: anywhere; }
.service { display: block; font-size: 1rem; font-weight: 400; }
header a { color: inherit; font-weight: 700; text-decoration: none; line-height: 1.2; }
header a:hover { text-decoration: underline; }
.sandbox { background: var(--warn-wash); border-bottom: 2px solid var(--warn); }
.sandbox p { margin: 0 auto; padding-top: .6rem; padding-bottom: .6rem; font-size: 1rem; }
main { flex: 1; padding-top: 2rem; padding-bottom: 3rem; }
main:focus { outline: none; }
.up { margin: -.75rem 0 1rem; font-size: 1rem; }
h1 { font-size: clamp(1.75rem, 1.3rem + 2.2vw, 2.5rem); line-height: 1.15; margin: 0 0 1.25rem; }
h2 { font-size: clamp(1.375rem, 1.2rem + .8vw, 1.625rem); line-height: 1.25; margin: 2.25rem 0 .75rem; }
h3 { font-size: 1.1875rem; margin: 1.75rem 0 .5rem; }
p, ul, ol, dl, pre, table { margin: 0 0 1.1rem; }
ul, ol { padding-left: 1.4rem; }
li { margin-bottom: .4rem; }
.lead { font-size: 1.3rem; line-height: 1.4; }
.soft, .hint, small { color: var(--soft); }
.hint { margin: .25rem 0 .6rem; font-size: 1.0625rem; }
label { display: block; font-weight: 700; }
input[type="text"], input[type="url"], textarea, select {
  display: block; width: 100%; min-height: 3rem; padding: .5rem .75rem; font: inherit;
  color: var(--ink); background: var(--paper); border: 2px solid var(--ink); border-radius: 0;
}
input:focus, textarea:focus, select:focus {
  outline: 3px solid var(--focus); outline-offset: 0; box-shadow: inset 0 0 0 2px var(--ink);
}
input[aria-invalid="true"] { border-color: var(--bad); }
button, .button {
  display: inline-block; min-height: 3rem; margin: 1.1rem 0 0; padding: .6rem 1.6rem; font: inherit; font-weight: 700;
  color: var(--on-button); background: var(--button); border: 0; border-radius: 0;
  box-shadow: 0 3px var(--button-edge); cursor: pointer; text-decoration: none;
}
button:hover, .button:hover { background: var(--button-edge); color: var(--paper); }
button:focus-visible, .button:focus-visible {
  outline: 3px solid transparent; background: var(--focus); color: var(--on-focus); box-shadow: 0 3px var(--on-focus);
}
.after-form { margin-top: 1.75rem; font-size: 1rem; }
.field-error { color: var(--bad); font-weight: 700; margin: .25rem 0 .6rem; }
.notice { margin: 0 0 1.75rem; padding: 1rem 1.25rem; border: 4px solid var(--none); }
.notice > :first-child { margin-top: 0; }
.notice > :last-child { margin-bottom: 0; }
.notice.bad { border-color: var(--bad); }
.notice.warn { border-color: var(--warn); }
.verdict { margin: 0 0 1.5rem; padding: 1.25rem; border-left: .6rem solid; }
.verdict h1 { display: flex; align-items: center; gap: .75rem; margin: 0 0 .35rem; }
.verdict p { margin: 0; color: var(--ink); }
.verdict svg { flex: none; width: 2.25rem; height: 2.25rem; }
.good { color: var(--good); background: var(--good-wash); }
.warn { color: var(--warn); background: var(--warn-wash); }
.bad { color: var(--bad); background: var(--bad-wash); }
.none { color: var(--none); background: var(--none-wash); }
.notice.bad, .notice.warn { color: var(--ink); background: transparent; }
dl.facts { border-top: 1px solid var(--line); }
dl.facts > div { display: grid; grid-template-columns: minmax(9rem, 2fr) minmax(0, 3fr); gap: 0 1rem; padding: .6rem 0;
  border-bottom: 1px solid var(--line); }
dl.facts dt { font-weight: 700; }
dl.facts dd { margin: 0; }
dl.facts small { display: block; margin-top: .15rem; line-height: 1.35; }
code, pre, .code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "Noto Sans Mono", monospace; font-size: .95em; }
code { overflow-wrap: anywhere; }
p > code, li > code { display: inline-block; max-width: 100%; line-height: 1.2; }
pre { padding: .9rem 1rem; white-space: pre-wrap; font-size: .9375rem; line-height: 1.45; background: var(--quiet);
  border-left: 4px solid var(--line); }
pre code { font-size: inherit; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .5rem .75rem .5rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
.scroll { overflow-x: auto; margin-bottom: 1.1rem; }
.scroll table { margin: 0; }
.scroll code { white-space: nowrap; overflow-wrap: normal; }
@media (max-width: 40rem) {
  .records { position: relative; }
  .records thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .records tr { display: block; padding: .6rem 0; border-bottom: 1px solid var(--line); }
  .records td { display: block; padding: .15rem 0; border: 0; }
  .records td:empty { display: none; }
  .records td:first-child { font-weight: 700; }
  .records td:not(:first-child)::before { content: attr(data-label) ": "; color: var(--soft); }
  .records code { white-space: normal; overflow-wrap: anywhere; }
}
.nav { display: flex; flex-wrap: wrap; gap: .35rem 1.5rem; list-style: none; padding: 0; margin: 0; }
footer { border-top: 1px solid var(--line); background: var(--quiet); font-size: 1rem; }
footer .width { padding-top: 1.5rem; padding-bottom: 2rem; }
footer .nav + .nav { margin-top: .75rem; }
footer .site { padding-bottom: 0; }
.site h2 { margin: 0 0 .6rem; font-size: 1.1875rem; }
.site dl { margin: 0 0 .75rem; }
.site dl > div { display: flex; flex-wrap: wrap; gap: 0 .6rem; margin-bottom: .2rem; }
.site dt { font-weight: 700; }
.site dt::after { content: ":"; }
.site dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
.paper { display: none; }
@media (max-width: 30rem) {
  dl.facts > div { grid-template-columns: minmax(0, 1fr); }
  .logo { max-width: 22vw; }
  button { width: 100%; }
}
@media (forced-colors: active) {
  button, .button, .verdict, .notice { border: 2px solid; }
}
@media print {
  :root { --paper: #fff; --ink: #000; --soft: #333; --line: #999; --good: #000; --warn: #000; --bad: #000; --none: #000;
    --good-wash: #fff; --warn-wash: #fff; --bad-wash: #fff; --none-wash: #fff; --brand: #fff; --on-brand: #000; --link: #000; }
  @page { margin: 15mm 20mm; }
  body { display: block; font-size: 10.5pt; line-height: 1.4; }
  .lead { font-size: 12pt; }
  .sandbox p { padding: .2rem 0; font-size: 9pt; }
  main { padding: 1rem 0 0; }
  h1 { font-size: 20pt; }
  h2 { font-size: 13pt; margin: .75rem 0 .3rem; }
  p, ul { margin-bottom: .5rem; }
  li { margin-bottom: .15rem; }
  .screen, .skip, footer, form { display: none; }
  .paper { display: block; }
  header { border-bottom: 1px solid #000; }
  .width { max-width: none; padding-left: 0; padding-right: 0; }
  .verdict { border: 2px solid #000; padding: .5rem .75rem; }
  .verdict svg { width: 1.5rem; height: 1.5rem; }
  dl.facts > div { padding: .15rem 0; }
  .verdict, dl.facts > div { break-inside: avoid; }
  h2 { break-after: avoid; }
}
`;
