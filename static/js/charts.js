// Charts over time. Numbers come from the address that the board names; captions, legends and tables stand in the page
// already, and everything can be read without this script.
"use strict";

(() => {
  const tag = document.documentElement.lang;
  // English as the console writes it: the day before the month.
  const locale = tag === "en" ? "en-GB" : tag;
  const HEIGHT = 180;
  const LEFT = 64;
  const DAY = 86_400;
  // Milliseconds between two looks for newer points; after failures longer, up to LONGEST.
  const BRISK = 15_000;
  const SLOW = 30_000;
  const LONGEST = 120_000;
  // Seconds for which a point may still grow: what is committed late is counted late.
  const GROWS = 600;
  // Steps of an axis of durations, in seconds: those in which people count time.
  const SPANS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, DAY];
  for (let days = 2; days < 4000; days *= 2) SPANS.push(days * DAY);
  const boards = new Map();

  // Words

  const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
  const precise = new Intl.NumberFormat(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  const compact = new Intl.NumberFormat(locale, { maximumFractionDigits: 2 });

  // As the console writes a length of time: at most two units.
  function span(seconds) {
    if (seconds < 0.9995) return seconds > 0 ? `${Math.round(seconds * 1000) || "<1"} ms` : "0 s";
    if (seconds < 10) return `${precise.format(seconds)} s`;
    const all = Math.round(seconds);
    const two = (large, name, small, rest) => {
      const left = Math.floor((all % large) / small);
      return `${Math.floor(all / large)} ${name}${left ? ` ${left} ${rest}` : ""}`;
    };
    if (all < 60) return `${all} s`;
    if (all < 3600) return two(60, "min", 1, "s");
    return all < DAY ? two(3600, "h", 60, "min") : two(DAY, "d", 3600, "h");
  }

  const units = {
    seconds: { say: span, tick: (n) => (n >= 1 && n < 10 ? `${compact.format(n)} s` : span(n)), incrs: SPANS },
    ratio: { say: precise.format, tick: compact.format },
    events: { say: whole.format, tick: compact.format },
  };
  units.lost = units.seconds;
  units.standing = units.events;

  function clocks(zone) {
    const make = (options) => {
      const format = new Intl.DateTimeFormat(locale, { timeZone: zone, ...options });
      return (seconds) => format.format(new Date(seconds * 1000));
    };
    return {
      time: make({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" }),
      day: make({ day: "2-digit", month: tag === "en" ? "short" : "2-digit" }),
    };
  }

  // Colours: of the page's own words, so that they follow the theme

  const inkOf = (element) => getComputedStyle(element).color;

  // What happened, behind the lines: bands for spans, a tick on top for each act

  function drawHappened(board, plot) {
    const { ctx, bbox } = plot;
    const { min, max } = plot.scales.x;
    const at = (time) => plot.valToPos(Math.min(Math.max(time, min), max), "x", true);
    ctx.save();
    for (const one of board.data.spans) {
      if (one.from > max || (one.to ?? max) < min) continue;
      ctx.globalAlpha = 0.16;
      ctx.fillStyle = board.tones[one.tone] ?? board.tones.idle;
      const left = at(one.from);
      ctx.fillRect(left, bbox.top, Math.max(at(one.to ?? max) - left, 2), bbox.height);
    }
    ctx.globalAlpha = 1;
    ctx.fillStyle = inkOf(board.element);
    const size = 5 * devicePixelRatio;
    for (const one of board.data.marks.filter((mark) => mark.at >= min && mark.at <= max)) {
      const x = at(one.at);
      ctx.beginPath();
      ctx.moveTo(x - size, bbox.top);
      ctx.lineTo(x + size, bbox.top);
      ctx.lineTo(x, bbox.top + 1.6 * size);
      ctx.fill();
      ctx.fillRect(x, bbox.top, 1, bbox.height);
    }
    ctx.restore();
  }

  function happenedAt(board, time) {
    const end = time + board.data.step;
    const spans = board.data.spans.filter((one) => one.from < end && (one.to ?? Infinity) > time);
    const marks = board.data.marks.filter((one) => one.at >= time && one.at < end);
    return [...spans, ...marks].map((one) => one.word);
  }

  // A number between two gaps has no line that would show it.
  const alone = ({ data }, line, isEvery) =>
    isEvery ? null : [...data[0].keys()].filter((at) => [-1, 0, 1].every((by) => Number.isFinite(data[line][at + by]) === !by));

  // One chart

  const columnsOf = (board, spec) =>
    spec.lines.map(({ column }) => board.data.columns[column] ?? board.data.times.map(() => null));
  const dataOf = (board, spec) => [board.data.times, ...columnsOf(board, spec)];

  function axes(board, figure, unit) {
    const ink = () => inkOf(figure.querySelector("figcaption"));
    const line = () => getComputedStyle(figure).borderTopColor;
    const common = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1, size: 4 }, gap: 4 };
    const font = `11px ${getComputedStyle(figure).fontFamily}`;
    const days = (_plot, splits, _axis, _space, incr) =>
      splits.map((at, place) => {
        const day = board.clocks.day(at);
        if (incr >= DAY) return day;
        const changes = place === 0 || board.clocks.day(splits[place - 1]) !== day;
        return changes ? `${board.clocks.time(at)}\n${day}` : board.clocks.time(at);
      });
    return [
      { ...common, font, values: days, size: 38, space: 64 },
      { ...common, font, size: LEFT, space: 28, values: (_plot, splits) => splits.map(unit.tick), ...(unit.incrs && { incrs: unit.incrs }) },
    ];
  }

  function show(board, { figure, spec, legend, columns }, place) {
    const known = (column) => column.findLast((number) => number !== null) ?? null;
    legend.values.forEach((value, line) => {
      const number = place === null ? known(columns[line]) : columns[line][place];
      value.textContent = number === null || number === undefined ? "–" : units[spec.unit].say(number);
    });
    const at = place === null ? null : board.data.times[place];
    legend.at.textContent = at === null ? "" : [momentOf(board, at), ...happenedAt(board, at)].join(" · ");
    figure.classList.toggle("pointed", at !== null);
  }

  const momentOf = (board, at) => `${board.clocks.day(at)} ${board.clocks.time(at)}`;

  function build(board, figure) {
    const box = figure.querySelector(".plot");
    const spec = JSON.parse(figure.dataset.chart);
    const unit = units[spec.unit];
    const lines = [...figure.querySelectorAll(".legend li:not(.at)")];
    const legend = { values: lines.map((one) => one.querySelector("b")), at: figure.querySelector(".legend .at") };
    const chart = { figure, spec, legend, box, columns: columnsOf(board, spec) };
    const series = lines.map((one, place) => ({
      label: spec.lines[place].label,
      stroke: () => inkOf(one.querySelector("svg")),
      width: 1.5,
      dash: spec.lines[place].dash.split(" ").filter(Boolean).map(Number),
      points: { show: (_plot, _line, first, last) => last - first < 2, filter: alone },
    }));
    const options = {
      width: box.clientWidth,
      height: HEIGHT,
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), board.zone),
      legend: { show: false },
      scales: { y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.08 : 1] } },
      axes: axes(board, figure, unit),
      series: [{}, ...series],
      padding: [8, 20, 0, 0],
      cursor: { y: false, drag: { x: true, y: false, dist: 4 }, sync: { key: board.key, scales: ["x", null] } },
      hooks: {
        drawClear: [(plot) => drawHappened(board, plot)],
        setCursor: [(plot) => show(board, chart, plot.cursor.left < 0 ? null : (plot.cursor.idx ?? null))],
      },
    };
    chart.plot = new uPlot(options, dataOf(board, spec), box);
    box.tabIndex = 0;
    box.addEventListener("keydown", (event) => press(board, chart, event));
    box.addEventListener("blur", () => point(chart, null));
    board.sizes.observe(box);
    show(board, chart, null);
    return chart;
  }

  // Keyboard

  function point(chart, place) {
    const { plot } = chart;
    const left = place === null ? -10 : plot.valToPos(plot.data[0][place], "x");
    plot.setCursor({ left, top: place === null ? -10 : 10 }, true, true);
  }

  function zoom(board, plot, factor) {
    const times = board.data.times;
    const { min, max } = plot.scales.x;
    const middle = plot.cursor.left >= 0 ? plot.posToVal(plot.cursor.left, "x") : (min + max) / 2;
    const half = Math.max(((max - min) * factor) / 2, 2 * board.data.step);
    const limits = { min: Math.max(times[0], middle - half), max: Math.min(times.at(-1), middle + half) };
    board.charts.forEach((chart) => chart.plot.setScale("x", limits));
  }

  function press(board, chart, event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { plot } = chart;
    const [first, last] = plot.series[0].idxs ?? [0, plot.data[0].length - 1];
    const here = plot.cursor.left >= 0 ? plot.cursor.idx : null;
    const step = event.shiftKey ? 10 : 1;
    const goals = {
      ArrowRight: here === null ? first : here + step,
      ArrowLeft: here === null ? last : here - step,
      Home: first,
      End: last,
    };
    const zooms = { "+": 0.5, "-": 2, Escape: Infinity };
    if (event.key in goals) {
      const goal = Math.min(Math.max(goals[event.key], first), last);
      point(chart, goal);
      const values = chart.spec.lines.map(({ label }, line) => `${label} ${chart.legend.values[line].textContent}`);
      chart.figure.querySelector("[data-spoken]").textContent = [chart.legend.at.textContent, ...values].join(", ");
    } else if (event.key in zooms) zoom(board, plot, zooms[event.key]);
    else return;
    event.preventDefault();
  }

  // Newer points

  function merge(board, newer) {
    const old = board.data;
    if (!newer.times.length) return;
    const kept = old.times.findIndex((time) => time >= newer.times[0]);
    const end = kept < 0 ? old.times.length : kept;
    const start = Math.max(0, end + newer.times.length - board.length);
    const joined = (before, after) => [...before.slice(start, end), ...after];
    const gap = newer.times.map(() => null);
    const columns = Object.entries(old.columns).map(([name, numbers]) => [
      name,
      joined(numbers, newer.columns[name] ?? gap),
    ]);
    board.data = { ...newer, times: joined(old.times, newer.times), columns: Object.fromEntries(columns) };
  }

  function redraw(board) {
    board.charts.forEach((chart) => {
      const { plot, spec } = chart;
      const [first, last] = [plot.data[0][0], plot.data[0].at(-1)];
      const zoomed = plot.scales.x.min > first || plot.scales.x.max < last;
      chart.columns = columnsOf(board, spec);
      plot.setData(dataOf(board, spec), !zoomed);
      if (zoomed) plot.redraw();
      show(board, chart, plot.cursor.left < 0 ? null : plot.cursor.idx);
    });
  }

  function tell(board, isStale) {
    const { age, asOf } = board;
    if (age && asOf) age.textContent = (isStale ? age.dataset.stale : age.dataset.asOf).replace("#", asOf);
    board.element.classList.toggle("stale", isStale);
  }

  async function ask(board) {
    const address = new URL(board.element.dataset.series, window.location.href);
    if (board.data) address.searchParams.set("since", Math.max(0, (board.data.times.at(-1) ?? 0) - GROWS));
    const answer = await fetch(address, { headers: { Accept: "application/json" }, signal: AbortSignal.timeout(10_000) });
    // A session that has ended, or an account that is gone, does not come back by asking on.
    board.isOver = answer.status >= 400 && answer.status < 500 && answer.status !== 429;
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    return answer.json();
  }

  async function look(board) {
    clearTimeout(board.timer);
    const rests = document.hidden || document.getElementById("pause-news")?.checked;
    try {
      if (!rests || !board.data) receive(board, await ask(board));
      board.failures = 0;
    } catch {
      board.failures += 1;
      if (board.data) tell(board, true);
    }
    if (board.isOver || !boards.has(board.element)) return;
    const pause = Math.min(LONGEST, (board.step > 60 ? SLOW : BRISK) * 2 ** board.failures);
    board.timer = setTimeout(look, pause * (0.85 + 0.3 * Math.random()), board);
  }

  function receive(board, data) {
    if (!boards.has(board.element)) return;
    // The age is that of the numbers, whenever the answer came.
    board.asOf = data.said.as_of;
    tell(board, data.stale);
    for (const [name, words] of Object.entries(data.said.captions)) {
      board.element.querySelector(`#caption-${name} > span`)?.replaceChildren(words);
    }
    if (board.data) {
      merge(board, data);
      redraw(board);
      return;
    }
    board.data = data;
    board.length = data.times.length;
    board.charts = [...board.element.querySelectorAll("[data-chart]")].map((figure) => build(board, figure));
    board.element.classList.add("drawn");
  }

  // Boards come and go

  function start(element) {
    if (boards.has(element) || !window.uPlot) return;
    const { zone, step } = element.dataset;
    const board = { element, zone, step: Number(step), key: element.dataset.series, charts: [], failures: 0 };
    board.clocks = clocks(zone);
    board.age = element.querySelector("[data-age]");
    board.sizes = new ResizeObserver((entries) => {
      for (const { target, contentRect } of entries) {
        const chart = board.charts.find(({ box }) => box === target);
        if (contentRect.width > 0) chart?.plot.setSize({ width: contentRect.width, height: HEIGHT });
      }
    });
    boards.set(element, board);
    tone(board);
    look(board);
  }

  function stop(board) {
    clearTimeout(board.timer);
    board.sizes.disconnect();
    board.charts.forEach((chart) => chart.plot.destroy());
    boards.delete(board.element);
  }

  // The colours of spans, as elements of the page have them: what a token says depends on the theme.
  function tone(board) {
    const probe = board.element.appendChild(document.createElement("span"));
    board.tones = {};
    for (const name of ["ok", "warn", "fail", "idle", "info"]) {
      probe.className = `toned tone-${name}`;
      board.tones[name] = inkOf(probe);
    }
    probe.remove();
  }

  function recolour() {
    boards.forEach((board) => {
      tone(board);
      board.charts.forEach(({ plot }) => plot.redraw(true, true));
    });
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  matchMedia("(forced-colors: active)").addEventListener("change", recolour);
  new MutationObserver(recolour).observe(document.documentElement, { attributeFilter: ["data-theme"] });

  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) boards.forEach((board) => board.isOver || look(board));
  });
  document.addEventListener("htmx:beforeCleanupElement", ({ target }) => {
    const board = boards.get(target);
    if (board) stop(board);
  });
  document.addEventListener("htmx:load", ({ target }) => {
    target.querySelectorAll("[data-series]").forEach(start);
  });
  document.querySelectorAll("[data-series]").forEach(start);
})();
