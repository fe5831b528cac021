/** What the getting-started page has besides the common style: a menu, a choice of languages, listings that wrap. */
export const guideStyle = `
body:has(.guide) .width { max-width: 76rem; }
.guide > nav { font-size: 1rem; }
.guide > nav ol { list-style: none; padding: 0; margin: 0 0 1.5rem; border-left: 2px solid var(--line); }
.guide > nav li { margin: 0; padding: .3rem 0 .3rem .9rem; }
.guide h2 { scroll-margin-top: 4.5rem; border-top: 1px solid var(--line); padding-top: 1.5rem; margin-top: 3rem; }
.codes { position: sticky; top: 0; z-index: 1; margin: 0 0 1.5rem; padding: .35rem 0 0; background: var(--paper);
  border-bottom: 2px solid var(--line); }
.codes ul { display: flex; flex-wrap: wrap; gap: 0 .5rem; list-style: none; padding: 0; margin: 0 0 -2px; }
.codes li { margin: 0; }
.codes a { display: block; padding: .4rem .6rem; font-size: 1rem; color: var(--ink); text-decoration: none; }
.codes a:hover { text-decoration: underline; }
.codes a[aria-current] { font-weight: 700; border-bottom: 3px solid var(--button); }
.codes a:focus-visible { color: var(--on-focus); background: var(--focus); }
.codes + h2 { margin-top: 0; padding-top: 0; border: 0; }
.listing { position: relative; margin: 0 0 1.1rem; background: var(--quiet); border-left: 4px solid var(--line); }
.listing figcaption { display: flex; justify-content: space-between; align-items: center; gap: 1rem; min-height: 2.4rem;
  padding: .3rem 1rem 0; font-size: .9375rem; color: var(--soft); }
.listing pre { margin: 0; border: 0; background: none; }
.listing .copy { flex: none; width: auto; min-height: 1.9rem; margin: 0; padding: .1rem .7rem; font-size: .9375rem; font-weight: 400;
  color: var(--ink); background: var(--paper); border: 1px solid var(--line); box-shadow: none; }
.listing .copy:hover { background: var(--quiet); }
.listing .copy:focus-visible { color: var(--on-focus); background: var(--focus); box-shadow: 0 3px var(--on-focus); }
details + .listing, .listing + details { margin-top: .9rem; }
.guide details { margin-bottom: 1.1rem; }
.guide .listing pre { padding-top: .5rem; }
.ticks { list-style: none; padding: 0; }
.ticks li { display: grid; grid-template-columns: 6.5rem 1fr; gap: 0 1rem; padding: .6rem 0; border-bottom: 1px solid var(--line);
  margin: 0; }
.ticks strong { color: var(--soft); }
.ticks .done strong { color: var(--good); }
#copied { position: absolute; width: 1px; height: 1px; margin: 0; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@media (min-width: 40.01rem) { .teachers code { white-space: nowrap; } }
@media (min-width: 64rem) {
  .guide { display: grid; grid-template-columns: 15rem minmax(0, 1fr); gap: 0 3rem; }
  .guide > nav { position: sticky; top: 1rem; align-self: start; max-height: calc(100vh - 2rem); overflow-y: auto; }
}
@media (max-width: 30rem) {
  .ticks li { grid-template-columns: 1fr; }
  .listing .copy { width: auto; }
}
@media print { .codes, .guide > nav, .copy { display: none; } }
`;
