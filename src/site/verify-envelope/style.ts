/** What the envelope page needs beside the common style sheet, on the screen and on paper. */
export const envelopeStyle = `
h1.small { margin: 0 0 .75rem; font-size: 1.0625rem; font-weight: 400; color: var(--soft); }
.field { margin-bottom: 1.1rem; }
.drop { padding: 1.25rem; border: 2px dashed var(--line); background: var(--quiet); }
.drop.over { border-color: var(--ink); border-style: solid; }
.drop input { display: block; width: 100%; font: inherit; font-size: 1rem; }
.drop input::file-selector-button { font: inherit; min-height: 2.75rem; margin-right: .75rem; padding: 0 1rem; cursor: pointer;
  color: var(--on-button); background: var(--button); border: 0; }
input[type="password"] { display: block; width: 100%; min-height: 3rem; padding: .5rem .75rem; font: inherit;
  color: var(--ink); background: var(--paper); border: 2px solid var(--ink); border-radius: 0; }
textarea { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 1rem; resize: vertical; }
#progress { margin: 0; font-weight: 700; }
#progress:not(:empty) { margin-bottom: 1.1rem; }
#outcome h2:focus { outline: none; color: inherit; background: none; box-shadow: none; }
.verdict h2 { display: flex; align-items: center; gap: .75rem; margin: 0 0 .35rem; font-size: 1.75rem; }
.verdict p + p { margin-top: .4rem; }
.since { margin: 0 0 1.5rem; padding: .75rem 1.25rem; border-left: .6rem solid; }
.verdict + .since { margin-top: -1rem; }
.since p { margin: 0; color: var(--ink); }
.since strong { display: block; color: var(--warn); }
#certificate .since { margin-top: 0; padding: .5rem 1rem; }
.actions { display: flex; flex-wrap: wrap; gap: .75rem; margin: 0 0 1.75rem; }
.actions button { margin: 0; }
.gathering { margin: 0 0 1.75rem; padding: 1.25rem; border: 4px solid var(--ink); }
.gathering h2 { margin: 0 0 .75rem; }
.gathering .actions { margin: 0; }
.squares { display: flex; flex-wrap: wrap; gap: .5rem; list-style: none; padding: 0; }
.squares li { display: grid; place-items: center; width: 2.75rem; height: 2.75rem; margin: 0; border: 2px dashed var(--soft); font-weight: 700; }
.squares .here { color: var(--on-button); background: var(--button); border: 0; }
#webhook-part { margin: 2.5rem 0 0; padding-top: .5rem; border-top: 1px solid var(--line); }
#keys h2 { margin-top: 1.25rem; font-size: 1.1875rem; }
.evidence { margin: 0 0 1.5rem; padding: .75rem 1.25rem; border-left: .2rem solid; background: none; }
.evidence h3 { margin: 0 0 .25rem; }
.evidence p { margin: 0; color: var(--ink); }
.evidence p + p { margin-top: .25rem; }
.present { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1rem; margin-bottom: 1.1rem; }
.present p { margin: 0; overflow-wrap: anywhere; }
button.quiet { margin: 0; padding: .5rem 1rem; color: var(--ink); background: var(--paper); border: 2px solid; box-shadow: none; font-weight: 400; }
.mark { flex: none; display: grid; place-items: center; width: 2.25rem; height: 2.25rem; border: 3px solid; border-radius: 50%;
  font-size: 1.25rem; line-height: 1; }
.checks { list-style: none; padding: 0; }
.checks li { display: flex; gap: 1rem; align-items: baseline; padding: .5rem 0; margin: 0; border-bottom: 1px solid var(--line); }
.checks span { min-width: 0; overflow-wrap: anywhere; }
.badge { flex: none; width: 6.25rem; white-space: nowrap; padding: 0 .5rem; text-align: center; font-size: 1rem; }
.differences ins, .differences del { text-decoration: none; overflow-wrap: anywhere; }
.differences td { padding: .5rem .6rem; width: 32%; }
.differences ins { color: var(--good); font-weight: 700; }
.differences del { color: var(--bad); font-weight: 700; text-decoration: line-through; }
.differences td:nth-child(2) { background: var(--good-wash); }
.differences td:nth-child(3) { background: var(--bad-wash); }
.differences caption { text-align: left; color: var(--soft); padding-bottom: .35rem; }
.differences th strong { display: block; color: var(--bad); font-size: 1rem; }
details { margin: 0 0 1.1rem; }
summary { cursor: pointer; min-height: 2.75rem; padding: .5rem 0; }
details.envelope { border: 1px solid var(--line); padding: 0 1rem; margin-bottom: .5rem; }
#certificate { padding: 1.5rem; border: 2px solid var(--ink); }
#certificate h2 { margin-top: 0; }
#certificate .verdict { margin-bottom: .6rem; padding: .75rem 1rem; }
#certificate .verdict h2 { font-size: 1.375rem; }
.codes { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 18rem), 1fr)); gap: 1rem; margin-bottom: 1.1rem; padding: 1rem; background: #fff; color: #000; }
.codes.many { grid-template-columns: repeat(auto-fit, minmax(min(100%, 14rem), 1fr)); }
.codes figure { margin: 0; text-align: center; font-size: 1rem; }
.codes img { display: block; width: 100%; height: auto; image-rendering: pixelated; }
@media (max-width: 40rem) {
  .checks li { flex-direction: column; gap: .25rem; }
  .differences thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
  .differences table, .differences caption, .differences tbody, .differences tr, .differences th, .differences td { display: block; width: auto; }
  .differences tr { border-bottom: 2px solid var(--line); padding-bottom: .5rem; }
  .differences td { border: 0; }
  .differences td::before { content: attr(data-label) ": "; }
  #certificate { padding: 1rem; }
  .verdict h2 { font-size: 1.5rem; }
}
@media (forced-colors: active) {
  .badge, .differences td { border: 1px solid; }
}
@media print {
  @page { margin: 8mm 14mm; }
  #tool > :not(#outcome), #lead, #title, button, .actions, body.foreign > header { display: none; }
  main { padding: 1.5mm 0 0; }
  header .width { padding-top: 0; padding-bottom: 1.5mm; }
  .sandbox p { padding: 1mm 0; font-size: 9pt; }
  #certificate { --good: #0a6b48; --good-wash: #e8f4ee; --warn: #8a4b00; --warn-wash: #fdf3e2;
    --bad: #a3211b; --bad-wash: #fceceb; --none: #3f4b57; --none-wash: #eef1f4;
    border: 0; padding: 0; margin: 0; font-size: 9pt; line-height: 1.3; }
  #certificate h2 { font-size: 17pt; margin: 0 0 1mm; }
  #certificate h3 { font-size: 11pt; margin: 0 0 1mm; break-after: avoid; }
  #certificate p, #certificate ul, #certificate dl { margin-bottom: 2mm; }
  #certificate ul { padding-left: 4mm; }
  #certificate li { margin-bottom: .5mm; }
  #certificate .lead { font-size: 11pt; line-height: 1.25; }
  .verdicts { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 2mm; margin-bottom: 2mm; }
  .verdicts .evidence, .verdicts .since { grid-column: 1 / -1; }
  #certificate .since { margin: 0; padding: 1mm 3mm; border: 1pt solid; border-left-width: 2.5mm; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  #certificate .since p { margin: 0; }
  #certificate .since strong { display: inline; }
  .since a::after { content: ": " attr(href); }
  #certificate .verdict { margin: 0; padding: 2mm 3mm; border: 1pt solid; border-left-width: 2.5mm; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  #certificate .verdict h2 { font-size: 12pt; margin: 0; gap: 2mm; }
  #certificate .mark { width: 6mm; height: 6mm; border-width: 1.5pt; font-size: 11pt; }
  #certificate .evidence { padding: 0 3mm; margin: 0; color: #000; }
  #certificate .evidence h3 { margin: 0; }
  #certificate dl.facts { columns: 2; column-gap: 6mm; }
  #certificate dl.facts > div { grid-template-columns: 31mm minmax(0, 1fr); gap: 0 2mm; padding: .6mm 0; }
  #certificate dl.facts code { font-size: 7.5pt; }
  .meanings { display: grid; grid-template-columns: 1fr 1fr; gap: 6mm; }
  .signed-answer { break-inside: avoid; }
  .signed-answer.proof { break-before: page; }
  #certificate .codes { grid-template-columns: 80mm 80mm; justify-content: space-between; gap: 2mm; margin: 0; padding: 0; }
  #certificate .codes.many { grid-template-columns: repeat(3, 57mm); justify-content: space-between; }
  .codes figure { break-inside: avoid; font-size: 9pt; }
}
`;
