import { codeLanguages } from "../getting-started-languages.ts";

const shown = codeLanguages
  .map(({ id }) => `.sample:has([value="${id}"]:checked) [data-in="${id}"]`)
  .join(",\n");

/**
 * What the reference needs beside the common style sheet. On a desktop three columns: the contents, what a call is,
 * and what it looks like; elsewhere one after the other.
 */
export const referenceStyle = `
:root { --name: #0b4f9c; --text: #0a6b48; --value: #8a3a00; }
@media (prefers-color-scheme: dark) { :root { --name: #8cc4ff; --text: #7fdcb2; --value: #ffc46b; } }
[hidden] { display: none !important; }
html { scroll-padding-top: 1rem; }
.width { max-width: 96rem; }
main { font-size: 1rem; }
main h1 { margin-bottom: 1rem; }
main h2 { margin: 0 0 .75rem; }
main h3 { margin: 0 0 .75rem; font-size: 1.25rem; line-height: 1.3; }
main h4 { margin: 1.5rem 0 .25rem; font-size: 1rem; }
main p, main ul, main dl, main pre, main table { margin-bottom: .85rem; }
main input[type="text"], main textarea { min-height: 2.5rem; padding: .3rem .6rem; font-size: 1rem; }
.lead { font-size: 1.1875rem; }
.part { padding: 2rem 0; border-top: 1px solid var(--line); }
.part .part { padding: 1.25rem 0 0; border: 0; }
.part .part h3 { font-size: 1.1875rem; margin-bottom: .4rem; }
:target, .part:has(> .what > :target) { scroll-margin-top: 1rem; }
tr:target, .members > :target, details:target { background: var(--warn-wash); box-shadow: -.375rem 0 var(--warn); }
h2:target .anchor, h3:target .anchor { color: var(--warn); }
.anchor { color: var(--soft); font-weight: 400; text-decoration: none; padding: 0 .3rem; }
.contents { font-size: .9375rem; line-height: 1.35; }
.contents ul { list-style: none; margin: 0 0 .5rem; padding: 0; }
.contents > ul > li { margin: 0; }
.contents > ul > li > a { font-weight: 700; }
.contents a { display: block; padding: .3rem .5rem; color: inherit; text-decoration: none; }
.contents li { margin: 0; }
.contents a:hover { text-decoration: underline; }
.contents a[aria-current] { background: var(--quiet); box-shadow: inset 3px 0 var(--button); }
.contents > ul ul a { color: var(--soft); }
.contents > ul ul a[aria-current] { color: var(--ink); }
#search { margin-bottom: 1rem; }
#search label { margin-bottom: .25rem; }
#search p { margin: .25rem 0; color: var(--soft); font-size: .875rem; }
@media (hover: none) { #count[data-idle] { display: none; } }
#results:not(:empty) { border: 1px solid var(--line); max-height: 24rem; overflow-y: auto; }
#results a { overflow-wrap: anywhere; }
#results small { display: block; }
.method { font: 700 .75rem/1.5 ui-monospace, Menlo, Consolas, monospace; padding: 0 .35rem; border: 1px solid; color: var(--name); }
.method.post { color: var(--text); }
.contents .method { border: 0; padding: 0; font-size: .6875rem; }
.address { display: flex; gap: .6rem; align-items: baseline; }
.address code { font-weight: 700; }
.needs { color: var(--soft); }
.members { border-top: 1px solid var(--line); }
.members > div { padding: .5rem 0; border-bottom: 1px solid var(--line); }
.members dd { margin: .15rem 0 0; }
.members dd p { margin: .25rem 0 0; }
.members dt code { font-weight: 700; }
.members .members { margin: .5rem 0 0; padding-left: 1rem; border: 0; border-left: 2px solid var(--line); }
.members .members > div:last-child { border: 0; }
.type, .presence, .headers, .caption { color: var(--soft); font-size: .9375rem; }
.type code { font-weight: 400; }
.headers code, .members .type code { font-weight: 400; }
.codes { display: flex; flex-wrap: wrap; gap: .25rem 1rem; list-style: none; padding: 0; margin: 0; }
.codes li { margin: 0; }
.words { border-top: 1px solid var(--line); }
.words th[scope="row"] { width: 1%; padding-right: 1.25rem; }
.words th[scope="row"] code { overflow-wrap: normal; }
.records.words td::before { content: none; }
.words td p { margin: 0 0 .25rem; }
.message { color: var(--soft); }
.words td .message { margin-bottom: .75rem; }
.sample { margin: 0 0 1.25rem; border: 1px solid var(--line); background: var(--paper); }
.sample > fieldset, .sample > summary, .sample > .caption { display: flex; flex-wrap: wrap; align-items: center; gap: 0 .25rem;
  margin: 0; min-height: 2.5rem; padding: .25rem .75rem; border: 0; color: var(--ink); font-size: .9375rem; font-weight: 700; }
.sample > summary { display: list-item; list-style-position: inside; padding-top: .55rem; cursor: pointer; }
.sample legend { float: left; padding: 0; margin-right: auto; }
.sample label { font-weight: 400; cursor: pointer; }
.sample fieldset input { position: absolute; opacity: 0; width: 1px; height: 1px; }
.sample fieldset span { display: block; padding: .3rem .5rem; }
.sample fieldset :checked + span { font-weight: 700; box-shadow: inset 0 -3px var(--button); }
.sample fieldset :focus-visible + span { background: var(--focus); color: var(--on-focus); box-shadow: inset 0 -3px var(--on-focus); }
.sample pre { margin: 0; border: 0; border-top: 1px solid var(--line); max-height: 21rem; overflow: auto; padding: .75rem;
  white-space: pre-wrap; overflow-wrap: anywhere; font-size: .8125rem; line-height: 1.5; position: relative; }
.sample pre code { overflow-wrap: anywhere; }
.sample pre:focus-visible { outline: 3px solid var(--focus); outline-offset: -3px; background: var(--quiet); color: var(--ink); box-shadow: none; }
[data-in] pre { max-height: 30rem; }
.sample > [data-in] { display: none; }
${shown} { display: block; }
.sample button.copy { min-height: 2rem; padding: .1rem .6rem; font-size: .875rem; font-weight: 400;
  color: var(--ink); background: var(--paper); border: 1px solid var(--line); box-shadow: none; width: auto; }
.sample button.copy:hover { background: var(--quiet); }
.sample button.copy:focus-visible { background: var(--focus); color: var(--on-focus); box-shadow: 0 3px var(--on-focus); }
.sample pre .copy { float: right; margin: -.25rem -.25rem .25rem .5rem; font-family: system-ui, sans-serif; }
.k { color: var(--name); } .s { color: var(--text); } .n { color: var(--value); }
.try form { padding: .75rem; border-top: 1px solid var(--line); }
.try label { display: block; margin-bottom: .75rem; font-size: .9375rem; font-weight: 700; }
.try input, .try textarea { font-weight: 400; font-family: ui-monospace, Menlo, Consolas, monospace; }
main .try textarea, main .try input[type="text"] { font-size: .875rem; }
.try button { margin: .25rem 0 .75rem; min-height: 2.5rem; padding: .3rem 1.25rem; }
.try p { margin: 0 0 .5rem; min-height: 1.5em; font-weight: 700; }
.try pre { border: 1px solid var(--line); }
.shown ul { padding-left: 1.1rem; }
@media (min-width: 64rem) {
  .part:has(> .shown) { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 27rem); gap: 2.5rem; }
  .shown { position: sticky; top: 1rem; align-self: start; }
  .what { max-width: 46rem; }
}
@media (min-width: 50rem) {
  .words th[scope="row"] code { white-space: nowrap; }
  .words wbr { display: none; }
  .reference { display: grid; grid-template-columns: 15rem minmax(0, 1fr); gap: 2.5rem; }
  .contents { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto; padding: 1rem .5rem 2rem 0; margin-top: -1rem; }
}
@media (min-width: 84rem) {
  .reference { grid-template-columns: 17rem minmax(0, 1fr); gap: 3rem; }
  .part:has(> .shown) { grid-template-columns: minmax(0, 1fr) minmax(0, 34rem); gap: 3rem; }
}
@media (max-width: 50rem) {
  .contents { margin-bottom: 2rem; }
  .contents > ul ul { display: none; }
  .contents > ul { display: grid; grid-template-columns: 1fr 1fr; }
  .part { padding: 1.5rem 0; }
  .words tbody th[scope="row"] { display: block; width: auto; padding: 0; border: 0; }
}
@media print {
  .contents, .try, .copy, .anchor { display: none; }
  .sample pre { max-height: none; }
}
`;
