/**
 * The console's style: an instrument panel. Small type with figures of even width, hairlines instead of boxes, colour
 * only for what means something; light and dark by the reader's own setting, one column on a phone.
 */
export const consoleStyle = `
:root {
  color-scheme: light dark;
  --ground: #eef1f2; --panel: #ffffff; --ink: #171c20; --soft: #55606a; --line: #d5dbdf; --hair: #e6eaec;
  --good: #0a6b48; --good-wash: #e2f2ea; --warn: #7d4600; --warn-wash: #fcefd9; --bad: #a3211b; --bad-wash: #fbe6e4;
  --quiet-wash: #e9edef; --link: #0b4f9c; --code: #f3f5f6;
  --s1: #0b67b2; --s2: #c2540a; --s3: #6b7680;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #101416; --panel: #181d20; --ink: #e8ecee; --soft: #a3afb8; --line: #313a40; --hair: #252c31;
    --good: #7fdcb2; --good-wash: #14291f; --warn: #ffc46b; --warn-wash: #2f2412; --bad: #ff9f98; --bad-wash: #381b19;
    --quiet-wash: #262e33; --link: #8cc4ff; --code: #10151a;
    --s1: #5fb2f5; --s2: #ff9a4d; --s3: #8f9ca6;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; background: var(--ground); color: var(--ink); font-variant-numeric: tabular-nums;
  font: .875rem/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", Arial, sans-serif;
}
header, main, footer { max-width: 90rem; margin: 0 auto; padding: 0 1rem; }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: .25rem .75rem; padding-top: .75rem; }
h1, h2, h3, p, dl, dd, ul, figure { margin: 0; padding: 0; }
h1 { font-size: 1.125rem; }
h2 { font-size: .8125rem; font-weight: 600; color: var(--soft); margin-bottom: .5rem; }
h3 { font-size: .8125rem; font-weight: 600; display: inline; }
ul { list-style: none; }
a { color: var(--link); }
.about { flex: 1 1 auto; overflow-wrap: anywhere; }
.unit, .none, .calm, footer { color: var(--soft); }
.unit { font-weight: 400; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }

#freshness { display: flex; align-items: center; gap: .4rem; color: var(--soft); }
.dot { width: .55rem; height: .55rem; border-radius: 50%; background: var(--s3); }
.is-live .dot { background: var(--good); }
.is-lost { color: var(--bad); font-weight: 600; }
.is-lost .dot { background: var(--bad); }

main { display: grid; gap: .75rem; padding-top: .75rem; grid-template-columns: minmax(0, 1fr); }
.panel > p + .paste { margin-top: .35rem; }
.panel { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .75rem; min-width: 0; }
.pair { display: grid; gap: .75rem; grid-template-columns: repeat(2, minmax(0, 1fr)); align-items: start; }
.charts { display: grid; gap: .75rem; grid-template-columns: repeat(3, minmax(0, 1fr)); }

.strip h2 { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.figures { display: grid; grid-template-columns: repeat(10, minmax(0, 1fr)); background: var(--panel);
  border: 1px solid var(--line); border-radius: 6px; overflow: hidden; gap: 1px; }
.figures > div { padding: .5rem .7rem; box-shadow: 1px 1px 0 var(--hair); }
.figures dt { font-size: .75rem; color: var(--soft); }
.figures dd { font-size: 1.125rem; font-weight: 600; }
.figures .unit { font-size: .75rem; }

.concerns li { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: .35rem 1rem;
  padding: .45rem 0; border-top: 1px solid var(--hair); }
.concerns li:first-child { border-top: 0; padding-top: 0; }
.concerns li:last-child { padding-bottom: 0; }
.concerns li > p:first-child { flex: 1 1 24rem; }

.badge { display: inline-block; padding: 0 .45em; border-radius: 3px; font-size: .75rem; font-weight: 600; white-space: nowrap; }
.badge.good { color: var(--good); background: var(--good-wash); }
.badge.warn { color: var(--warn); background: var(--warn-wash); }
.badge.bad { color: var(--bad); background: var(--bad-wash); }
.badge.quiet { color: var(--ink); background: var(--quiet-wash); }

.command { display: inline-block; max-width: 100%; padding: .2rem .5rem; background: var(--code); border: 1px solid var(--line);
  border-radius: 4px; font: .8125rem/1.4 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  overflow-wrap: anywhere; user-select: all; -webkit-user-select: all; }
.paste { display: flex; flex-wrap: wrap; align-items: center; gap: .4rem; }
[data-section] > .paste { margin-top: .5rem; }
.concerns .paste { flex: 0 1 auto; }
.copy { padding: .15rem .55rem; font: inherit; font-size: .75rem; color: var(--ink); background: var(--panel);
  border: 1px solid var(--line); border-radius: 4px; cursor: pointer; }
.copy:hover { border-color: var(--soft); }

.scroll { overflow-x: auto; margin: 0 -.75rem; padding: 0 .75rem; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: .28rem .7rem .28rem 0; text-align: left; vertical-align: baseline; border-top: 1px solid var(--hair); }
thead th { border-top: 0; font-size: .75rem; font-weight: 500; color: var(--soft); white-space: nowrap; padding-top: 0; }
tbody th { font-weight: 600; white-space: nowrap; }
td.number, th.number { text-align: right; }
th:last-child, td:last-child { padding-right: 0; }
td { white-space: nowrap; }
.prose { display: block; min-width: 18rem; white-space: normal; }
.kid { display: inline-block; max-width: 11rem; overflow: hidden; text-overflow: ellipsis; vertical-align: bottom; font: .8125rem ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.scroll + p { margin-top: .5rem; }

.meter { display: flex; align-items: center; gap: .5rem; min-width: 7rem; }
.meter > span { flex: none; width: 3.2rem; text-align: right; }
.bar { flex: 1 1 auto; width: 4rem; height: .45rem; display: block; border-radius: 2px; }
.bar .all { fill: var(--quiet-wash); }
.bar .part { fill: var(--s1); }
.bar.warn .part { fill: var(--warn); }
.bar.bad .part { fill: var(--bad); }

.chart figcaption { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: 0 .75rem; margin-bottom: .35rem; }
.legend { display: flex; flex-wrap: wrap; gap: 0 .8rem; font-size: .75rem; color: var(--soft); }
.legend b { color: var(--ink); display: inline-block; min-width: 2.2em; }
.key { display: inline-block; width: .8em; height: 3px; margin-right: .35em; border-radius: 2px; vertical-align: middle; }
.key.s1 { background: var(--s1); } .key.s2 { background: var(--s2); } .key.s3 { background: var(--s3); }
.plot { height: 150px; min-width: 0; overflow: hidden; position: relative; }
.peak { position: absolute; right: 0; top: 0; font-size: .6875rem; color: var(--soft); }
.plot > svg { width: 100%; height: 100%; display: block; border-bottom: 1px solid var(--line); }
.plot polyline { fill: none; stroke-width: 1.5; vector-effect: non-scaling-stroke; }
.plot polyline.s1 { stroke: var(--s1); } .plot polyline.s2 { stroke: var(--s2); } .plot polyline.s3 { stroke: var(--s3); }

nav ul { display: flex; flex-wrap: wrap; gap: .25rem; }
nav a { display: block; padding: .25rem .6rem; text-decoration: none; border-radius: 4px; }
nav a[aria-current] { color: var(--ink); background: var(--quiet-wash); font-weight: 600; }
.filter { display: flex; flex-wrap: wrap; align-items: end; gap: .5rem .75rem; }
.filter + .filter { margin-top: .75rem; padding-top: .75rem; border-top: 1px solid var(--hair); }
.filter label { display: grid; gap: .15rem; font-size: .75rem; color: var(--soft); }
.filter .wide { flex: 1 1 24rem; max-width: 40rem; }
input, select { min-height: 2rem; min-width: 0; max-width: 100%; padding: .2rem .5rem; font: inherit; font-size: .875rem; color: var(--ink);
  background: var(--panel); border: 1px solid var(--soft); border-radius: 4px; }
button:not(.copy) { min-height: 2rem; padding: .2rem .9rem; font: inherit; color: var(--panel); background: var(--link);
  border: 1px solid var(--link); border-radius: 4px; cursor: pointer; }
.pager { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; margin-top: .75rem; }
.name { display: block; min-width: 10rem; max-width: 24rem; white-space: normal; overflow-wrap: anywhere; }
.id { display: block; min-width: 9.5rem; max-width: 20rem; white-space: normal; overflow-wrap: anywhere; font: .75rem ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.digest { overflow-wrap: anywhere; }
.record > div { display: grid; grid-template-columns: 11rem minmax(0, 1fr); gap: 0 1rem; padding: .28rem 0; border-top: 1px solid var(--hair); }
.record > div:first-child { border-top: 0; }
.record dt { color: var(--soft); }
.record dd { overflow-wrap: anywhere; }

footer { padding-top: .75rem; padding-bottom: 1.5rem; font-size: .75rem; }
.plain { max-width: 40rem; padding-top: 12vh; display: grid; gap: .75rem; justify-items: start; font-size: 1rem; }
.plain h1 { font-size: 1.5rem; }
.plain .command { font-size: 1rem; }

@media (max-width: 90rem) {
  .pair { grid-template-columns: minmax(0, 1fr); }
}
@media (max-width: 85rem) {
  .figures { grid-template-columns: repeat(5, minmax(0, 1fr)); }
  .charts { grid-template-columns: repeat(2, minmax(0, 1fr)); }
}
@media (max-width: 42rem) {
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tbody, tr, th, td { display: block; }
  tr { padding: .4rem 0; border-top: 1px solid var(--line); }
  tbody tr:first-child { border-top: 0; }
  th, td { padding: .1rem 0; border: 0; white-space: normal; overflow-wrap: anywhere; }
  td.number { text-align: left; }
  td:empty { display: none; }
  td[data-label]::before { content: attr(data-label) ": "; color: var(--soft); }
  .prose, .name, .id, .kid { display: inline; min-width: 0; white-space: normal; overflow-wrap: anywhere; }
  .meter { display: inline-flex; }
  .record > div { grid-template-columns: minmax(0, 1fr); }
  .figures { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .charts { grid-template-columns: minmax(0, 1fr); }
  .plot { height: 120px; }
}
@media print {
  body { background: none; }
  .copy, #freshness, footer a { display: none; }
  .panel { break-inside: avoid; }
}
`;
