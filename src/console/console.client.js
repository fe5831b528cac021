// The console's script: it asks for what has changed every two seconds and puts it in place. The page is complete
// without it. Everything it shows was written and escaped by the service.
(() => {
  const pollMs = 2000;
  const timeoutMs = 8000;
  const keptMs = 15 * 60 * 1000;
  const freshness = document.getElementById("freshness");
  const freshnessText = freshness.querySelector("[data-text]");
  const points = { at: [] };
  let charts = [];

  const text = (value) => {
    if (value === null || value === undefined) return "–";
    if (value === 0) return "0";
    if (value < 0.995) return value.toFixed(2);
    return value < 9.95 ? value.toFixed(1) : Math.round(value).toLocaleString("en");
  };
  // Times stand in the service's time zone, on the axes as in the tables, wherever the browser is.
  const { timeZone } = document.querySelector("main").dataset;
  const toMinute = new Intl.DateTimeFormat("en-GB", { timeZone, timeStyle: "short" });
  const toSecond = new Intl.DateTimeFormat("en-GB", { timeZone, timeStyle: "medium" });
  let lastAnswer = new Date();

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const rangeTo = (seconds) => [seconds - keptMs / 1000, seconds];

  function seriesOf(figure) {
    return [...figure.querySelectorAll("[data-series]")].map((element) => ({
      name: element.dataset.series,
      element,
    }));
  }

  function showValues(series, index) {
    for (const { name, element } of series) element.textContent = text(points[name]?.at(index ?? -1));
  }

  function makeChart(figure) {
    const plot = figure.querySelector(".plot");
    const series = seriesOf(figure);
    const axis = {
      stroke: colour("--soft"),
      grid: { stroke: colour("--hair"), width: 1 },
      ticks: { show: false },
      font: "11px system-ui, sans-serif",
    };
    const chart = new uPlot(
      {
        width: plot.clientWidth,
        height: plot.clientHeight,
        legend: { show: false },
        cursor: { y: false, points: { size: 5 }, drag: { x: false, y: false }, sync: { key: "console" } },
        scales: {
          x: { range: (_chart, _from, to) => rangeTo(to ?? Date.now() / 1000) },
          y: { range: (_chart, _low, high) => [0, Math.max(1, (high ?? 0) * 1.1)] },
        },
        axes: [
          {
            ...axis,
            size: 26,
            gap: 7,
            space: 70,
            incrs: [60, 120, 180, 300],
            values: (_chart, ticks) => ticks.map((tick) => toMinute.format(tick * 1000)),
          },
          { ...axis, size: 40, gap: 4, space: 28, values: (_chart, ticks) => ticks.map(text) },
        ],
        series: [
          {},
          ...series.map((_, index) => ({
            stroke: colour(`--s${index + 1}`),
            width: 1.5,
            points: { show: false },
            spanGaps: false,
          })),
        ],
        hooks: { setCursor: [(self) => showValues(series, self.cursor.idx)] },
      },
      dataOf(series),
      undefined,
    );
    plot.replaceChildren(chart.root);
    return { chart, plot, series };
  }

  function dataOf(series) {
    return [points.at.map((at) => at / 1000), ...series.map(({ name }) => points[name] ?? [])];
  }

  function makeCharts() {
    for (const { chart } of charts) chart.destroy();
    charts = [...document.querySelectorAll("[data-chart]")].map(makeChart);
  }

  function take(columns) {
    const oldest = (columns.at.at(-1) ?? points.at.at(-1) ?? 0) - keptMs;
    const known = points.at.length;
    const drop = points.at.findIndex((at) => at >= oldest);
    for (const [name, values] of Object.entries(columns)) {
      points[name] = [...(points[name] ?? new Array(known).fill(null)), ...values];
    }
    if (drop > 0) for (const name of Object.keys(points)) points[name].splice(0, drop);
    for (const { chart, series } of charts) {
      chart.setData(dataOf(series));
      showValues(series, chart.cursor.idx);
    }
  }

  function addCopyButtons(parent) {
    for (const command of parent.querySelectorAll(".command")) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.textContent = "Copy";
      button.setAttribute("aria-label", `Copy: ${command.textContent}`);
      button.addEventListener("click", () => copy(command, button));
      command.after(button);
    }
  }

  async function copy(command, button) {
    try {
      await navigator.clipboard.writeText(command.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(command);
      button.textContent = "Selected";
    }
    setTimeout(() => {
      button.textContent = "Copy";
    }, 1500);
  }

  const shown = {};
  function showSection(name, markup) {
    const place = document.querySelector(`[data-section="${name}"]`);
    // What is being read or copied stays under the reader's hand.
    const isHeld = place?.contains(document.activeElement) || holdsSelection(place);
    if (!place || isHeld || shown[name] === markup) return;
    shown[name] = markup;
    const scrolled = place.querySelector(".scroll")?.scrollLeft ?? 0;
    place.innerHTML = markup;
    addCopyButtons(place);
    const scroller = place.querySelector(".scroll");
    if (scroller) scroller.scrollLeft = scrolled;
  }

  function holdsSelection(place) {
    const selection = getSelection();
    return Boolean(place && selection && !selection.isCollapsed && place.contains(selection.anchorNode));
  }

  function tell(state, words) {
    if (freshness.className !== state) freshness.className = state;
    if (freshnessText.textContent !== words) freshnessText.textContent = words;
  }

  async function poll() {
    const since = points.at.at(-1) ?? 0;
    try {
      const response = await fetch(`/live.json?since=${since}`, { signal: AbortSignal.timeout(timeoutMs) });
      const answer = await response.json();
      if (response.status === 401) {
        tell("is-lost", answer.message);
        return;
      }
      if (!response.ok) throw new Error(answer.message);
      take(answer.points);
      for (const [name, markup] of Object.entries(answer.sections)) showSection(name, markup);
      tell("is-live", "live, every two seconds");
      lastAnswer = new Date();
    } catch {
      tell(
        "is-lost",
        `no answer from the service since ${toSecond.format(lastAnswer)}; what stands here is old`,
      );
    }
    setTimeout(poll, pollMs);
  }

  addCopyButtons(document);
  makeCharts();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", makeCharts);
  new ResizeObserver(() => {
    for (const { chart, plot } of charts) {
      if (chart.width !== plot.clientWidth || chart.height !== plot.clientHeight) {
        chart.setSize({ width: plot.clientWidth, height: plot.clientHeight });
      }
    }
  }).observe(document.querySelector("main"));
  poll();
})();
