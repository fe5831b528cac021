/** What the envelope page needs beside the common style sheet, on the screen and on paper. */
export const envelopeStyle = `
[hidden] { display: none !important; }
fieldset { border: 0; margin: 0 0 1.1rem; padding: 0; }
legend { font-weight: 700; padding: 0; margin-bottom: .35rem; }
.choice { display: flex; align-items: center; gap: .75rem; min-height: 3rem; font-weight: 400; }
.choice input { width: 1.5rem; height: 1.5rem; flex: none; margin: 0; accent-color: var(--button); }
.field { margin-bottom: 1.1rem; }
.drop { padding: 1.25rem; border: 2px dashed var(--line); background: var(--quiet); }
.drop.over { border-color: var(--ink); border-style: solid; }
.drop input { display: block; width: 100%; font: inherit; font-size: 1rem; }
.drop input::file-selector-button { font: inherit; min-height: 2.75rem; margin-right: .75rem; padding: 0 1rem; cursor: pointer;
  color: var(--on-button); background: var(--button); border: 0; }
input[type="password"] { display: block; width: 100%; min-height: 3rem; padding: .5rem .75rem; font: inherit;
  color: var(--ink); background: var(--paper); border: 2px solid var(--ink); border-radius: 0; }
textarea { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 1rem; resize: vertical; }
#progress { min-height: 1.5em; margin: 1.1rem 0 0; }
#outcome { margin-top: 1.5rem; }
#outcome h2:focus { outline: none; color: inherit; background: none; box-shadow: none; }
.verdict h2 { display: flex; align-items: center; gap: .75rem; margin: 0 0 .35rem; font-size: 1.75rem; }
.verdict p + p { margin-top: .4rem; }
.verdict + button { margin: 0 0 1.5rem; }
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
#certificate { margin-top: 2rem; padding: 1.5rem; border: 2px solid var(--ink); }
#certificate h2 { margin-top: 0; }
#certificate .verdict { margin-bottom: .6rem; padding: .75rem 1rem; }
#certificate .verdict h2 { font-size: 1.375rem; }
.codes { display: grid; grid-template-columns: repeat(auto-fill, minmax(12rem, 1fr)); gap: 1.5rem; padding: 1rem; background: #fff; color: #000; }
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
}
@media (forced-colors: active) {
  .badge, .differences td { border: 1px solid; }
}
@media print {
  #tool > :not(#outcome), #lead, #title, button { display: none; }
  #outcome { margin: 0; }
  #certificate { border: 0; padding: 0; margin: 0; }
  #certificate { font-size: 10pt; line-height: 1.35; }
  #certificate h2 { font-size: 18pt; margin: 0 0 .3rem; }
  #certificate h3 { font-size: 12pt; margin: .6rem 0 .2rem; break-after: avoid; }
  #certificate p, #certificate ul, #certificate dl { margin-bottom: .4rem; }
  #certificate li { margin-bottom: .1rem; }
  #certificate .lead { font-size: 12pt; }
  #certificate .verdict { padding: .3rem .6rem; margin-bottom: .3rem; border: 2pt solid; }
  #certificate .verdict h2 { font-size: 14pt; margin: 0; }
  #certificate .verdict.good { color: #0a6b48; }
  #certificate .verdict.bad { color: #a3211b; }
  #certificate .evidence { padding: 0 .6rem; margin-bottom: .3rem; color: #000; }
  #certificate .evidence h3 { margin: 0; }
  #certificate dl.facts > div { padding: .15rem 0; }
  .signed-answer { break-inside: avoid; }
  .codes { grid-template-columns: repeat(3, 52mm); gap: 7mm 6mm; padding: 0; }
  .codes figure { break-inside: avoid; font-size: 9pt; }
}
`;
