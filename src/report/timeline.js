// The timelines of the page, drawn on canvas from the data in the page, without libraries.
"use strict";
(() => {
  const NAME = 150, AXIS = 30, GAP = 3;
  const group = n => Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ",");
  const dark = () => matchMedia("(prefers-color-scheme: dark)").matches;
  const el = (tag, props = {}, ...kids) => {
    const e = Object.assign(document.createElement(tag), props);
    e.append(...kids);
    return e;
  };

  // A tile of parallel lines for each hatched class, as in the charts.
  function pattern(ctx, c, theme) {
    const [up, down, stand, level] = c.hatch;
    if (!(up || down || stand || level)) return null;
    const n = 16, tile = el("canvas", { width: n, height: n }), t = tile.getContext("2d");
    t.fillStyle = c.fill[theme];
    t.fillRect(0, 0, n, n);
    t.strokeStyle = c.line[theme];
    t.lineWidth = 1;
    const lines = (step, draw) => { for (let i = -n; i <= 2 * n; i += step) { t.beginPath(); draw(i); t.stroke(); } };
    const step = tenths => tenths > 5 ? 8 : 4;
    if (up) lines(step(up) , i => { t.moveTo(i, n); t.lineTo(i + n, 0); });
    if (down) lines(step(down), i => { t.moveTo(i, 0); t.lineTo(i + n, n); });
    if (stand) lines(step(stand), i => { t.moveTo(i + 1.5, 0); t.lineTo(i + 1.5, n); });
    if (level) lines(step(level), i => { t.moveTo(0, i + 1.5); t.lineTo(n, i + 1.5); });
    return ctx.createPattern(tile, "repeat");
  }

  function timeline(box, d) {
    const W = d.width, S = d.spans, count = S.length / W;
    const span = i => ({ i, row: S[i * W], lane: S[i * W + 1], start: S[i * W + 2], end: S[i * W + 2] + S[i * W + 3],
      cls: S[i * W + 4], label: d.labels[S[i * W + 5]], site: d.sites[S[i * W + 6]], woken: S[i * W + 7], started: S[i * W + 8] });
    // Rows from top to bottom, with a heading for each CTA; the spans of a row are sorted by time.
    let y = 0, cta = -1;
    const rows = d.rows.map(r => {
      const head = r.cta !== cta ? (cta = r.cta, 20) : 0;
      const h = r.lanes > 1 ? r.lanes * 13 : 17;
      const row = { ...r, head: head && y, y: y + head, h, spans: [] };
      y += head + h + GAP;
      return row;
    });
    const height = y;
    for (let i = 0; i < count; i++) rows[S[i * W]].spans.push(i);
    const onPath = new Set(d.path);
    const canvas = el("canvas", { tabIndex: 0, className: "chart", role: "application", ariaLabel: "timeline of " + d.title });
    const ctx = canvas.getContext("2d");
    const detail = el("div", { className: "detail", ariaLive: "polite", textContent: "Point at an operation; click to keep it." });
    let [from, to] = d.opening || [0, d.end], over = -1, kept = -1, path = false;
    const button = (text, title, act) => el("button", { textContent: text, title, onclick: () => { act(); draw(); } });
    const zoom = (factor, at = (from + to) / 2) => {
      const w = Math.min(d.end, Math.max(8 * d.ticks, (to - from) * factor));
      from = Math.min(Math.max(0, at - (at - from) * w / (to - from)), d.end - w);
      to = from + w;
    };
    const pan = by => { const w = to - from; from = Math.min(Math.max(0, from + by), d.end - w); to = from + w; };
    const bar = el("div", { className: "bar" },
      button("+", "zoom in (+)", () => zoom(0.5)), button("−", "zoom out (-)", () => zoom(2)),
      button("all", "the whole run (a)", () => { from = 0; to = d.end; }),
      button("steps", "steps of the main loop (home)", () => { [from, to] = d.opening || [0, d.end]; }),
      button("◂", "to the left", () => pan((from - to) / 4)), button("▸", "to the right", () => pan((to - from) / 4)));
    if (d.path.length) {
      const box = el("input", { type: "checkbox", onchange: e => { path = e.target.checked; draw(); } });
      bar.append(el("label", {}, box, " critical path"));
    }
    const range = el("span", { className: "range" });
    bar.append(range);
    box.append(bar, canvas, detail);

    const plot = () => canvas.clientWidth - NAME - 8;
    const x = t => NAME + (t - from) / (to - from) * plot();
    const time = px => from + (px - NAME) / plot() * (to - from);

    function draw() {
      const theme = dark() ? 1 : 0, ratio = devicePixelRatio || 1, width = box.clientWidth;
      canvas.style.width = width + "px";
      canvas.style.height = height + AXIS + "px";
      canvas.width = width * ratio;
      canvas.height = (height + AXIS) * ratio;
      ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
      const css = getComputedStyle(document.documentElement), ink = css.getPropertyValue("--ink"), muted = css.getPropertyValue("--muted"),
        band = css.getPropertyValue("--band"), grid = css.getPropertyValue("--grid");
      const paint = d.classes.map(c => pattern(ctx, c, theme) || c.fill[theme]);
      range.textContent = `${group(from / d.ticks)} – ${group(to / d.ticks)} of ${group(d.end / d.ticks)} cycles`;
      ctx.font = "11px system-ui, sans-serif";
      ctx.textBaseline = "middle";
      // Axis.
      const every = nice((to - from) / d.ticks / Math.max(2, plot() / 110));
      for (let c = Math.ceil(from / d.ticks / every) * every; c <= to / d.ticks; c += every) {
        const at = Math.round(x(c * d.ticks)) + 0.5;
        ctx.fillStyle = grid;
        ctx.fillRect(at, 0, 1, height);
        ctx.fillStyle = ink;
        const text = group(c), w = ctx.measureText(text).width;
        ctx.fillText(text, Math.min(at - w / 2, width - w - 2), height + 12);
      }
      ctx.fillStyle = muted;
      ctx.fillText("cycles", 4, height + 12);
      for (const r of rows) {
        if (r.head !== 0 || r === rows[0]) {
          ctx.fillStyle = band;
          ctx.fillRect(0, r.y - 18, width, 16);
          ctx.fillStyle = ink;
          ctx.fillText("CTA " + r.cta, 4, r.y - 10);
        }
        ctx.fillStyle = ink;
        ctx.fillText(cut(r.name, NAME - 12), 8, r.y + r.h / 2);
        ctx.fillStyle = band;
        ctx.globalAlpha = 0.5;
        ctx.fillRect(NAME, r.y, plot(), r.h);
        ctx.globalAlpha = 1;
        row(r, paint, theme);
      }
      // Faults.
      for (const f of d.faults) {
        const at = x(f.tick);
        if (at < NAME || at > NAME + plot()) continue;
        ctx.fillStyle = "#d55e00";
        ctx.fillRect(at - 1, 0, 2, height);
      }
      arrows(ink);
    }

    // Bars where each is wide enough to see; otherwise a column with the shares of time.
    function row(r, paint, theme) {
      const lane = r.h / r.lanes, bins = new Map();
      let lo = 0, hi = r.spans.length;
      if (r.lanes === 1) {
        while (lo < hi) { const m = (lo + hi) >> 1; if (S[r.spans[m] * W + 2] + S[r.spans[m] * W + 3] <= from) lo = m + 1; else hi = m; }
      }
      for (let k = lo; k < r.spans.length; k++) {
        const i = r.spans[k], start = S[i * W + 2], end = start + S[i * W + 3];
        if (end <= from) continue;
        if (start >= to) break;
        const x0 = Math.max(x(start), NAME), x1 = Math.min(x(end), NAME + plot()), w = x1 - x0, cls = S[i * W + 4];
        const top = r.y + lane * S[i * W + 1];
        if (w < 2) {
          const bin = Math.floor(x0 / 2) + S[i * W + 1] * 1e5;
          if (!bins.has(bin)) bins.set(bin, { x: Math.floor(x0 / 2) * 2, top, sums: new Map() });
          const sums = bins.get(bin).sums;
          sums.set(cls, (sums.get(cls) || 0) + w);
          continue;
        }
        ctx.fillStyle = paint[cls];
        ctx.fillRect(x0, top, w > 4 ? w - 1 : w, lane - (r.lanes > 1 ? 1 : 0));
        if (i === kept || i === over || path && onPath.has(i)) {
          ctx.strokeStyle = i === kept || i === over ? "#d55e00" : dark() ? "#fff" : "#000";
          ctx.lineWidth = 2;
          ctx.strokeRect(x0 + 1, top + 1, Math.max(w - 3, 1), lane - 3);
        }
        if (w > 26 && lane > 9) {
          const c = d.classes[cls], label = d.labels[S[i * W + 5]], text = c.state ? label : label ? c.word + " " + label : c.word;
          const tight = label.replace(/ from .*/, "…").replace(/ /g, "");
          const fits = [text, label || c.word, tight].find(t => t && ctx.measureText(t).width < w - 8);
          if (fits) {
            const tw = ctx.measureText(fits).width, tx = x0 + (w - tw) / 2;
            if (paint[cls] !== c.fill[theme]) {
              ctx.fillStyle = c.fill[theme];
              ctx.fillRect(tx - 2, top + 1, tw + 4, lane - 2);
            }
            ctx.fillStyle = c.text[theme];
            ctx.fillText(fits, tx, top + lane / 2 + 0.5);
          }
        }
      }
      for (const bin of bins.values()) {
        let bottom = bin.top + lane - (r.lanes > 1 ? 1 : 0);
        const full = lane - (r.lanes > 1 ? 1 : 0), all = Math.max(2, [...bin.sums.values()].reduce((a, b) => a + b, 0));
        for (const [cls, sum] of [...bin.sums].sort((a, b) => a[0] - b[0])) {
          const h = sum / all * full;
          ctx.fillStyle = d.classes[cls].solid[theme];
          ctx.fillRect(bin.x, bottom - h, 2, h);
          bottom -= h;
        }
      }
    }

    function arrows(ink) {
      const i = kept >= 0 ? kept : over;
      if (i < 0) return;
      const s = span(i), by = s.woken >= 0 ? s.woken : s.started;
      if (by < 0) return;
      const b = span(by), mid = s => rows[s.row].y + rows[s.row].h / rows[s.row].lanes * (s.lane + 0.5);
      const [x0, y0, x1, y1] = [x(b.end), mid(b), x(s.woken >= 0 ? s.end : s.start), mid(s)];
      ctx.save();
      ctx.beginPath();
      ctx.rect(NAME, 0, plot(), height);
      ctx.clip();
      ctx.strokeStyle = ink;
      ctx.lineWidth = 1.5;
      ctx.beginPath();
      ctx.moveTo(x0, y0);
      ctx.lineTo(x1, y1);
      const a = Math.atan2(y1 - y0, x1 - x0);
      for (const side of [-0.5, 0.5]) { ctx.moveTo(x1, y1); ctx.lineTo(x1 - 8 * Math.cos(a + side), y1 - 8 * Math.sin(a + side)); }
      ctx.stroke();
      ctx.restore();
    }

    const cut = (text, w) => { while (text.length > 2 && ctx.measureText(text).width > w) text = text.slice(0, -2) + "…"; return text; };
    const nice = raw => { const p = 10 ** Math.floor(Math.log10(Math.max(raw, 1))); return p * [1, 2, 5, 10].find(n => n * p >= raw); };

    function at(e) {
      const r = canvas.getBoundingClientRect(), px = e.clientX - r.left, py = e.clientY - r.top;
      const here = rows.find(r => py >= r.y && py < r.y + r.h);
      if (!here || px < NAME) return -1;
      const t = time(px), lane = Math.floor((py - here.y) / (here.h / here.lanes));
      const found = here.spans.find(i => S[i * W + 2] <= t && t < S[i * W + 2] + S[i * W + 3] && S[i * W + 1] === lane);
      return found === undefined ? -1 : found;
    }

    function tell(i) {
      detail.textContent = "";
      if (i < 0) { detail.textContent = "Point at an operation; click to keep it."; return; }
      const line = i => {
        const s = span(i), c = d.classes[s.cls], r = rows[s.row];
        return `CTA ${r.cta} / ${r.name}: ${c.says}${s.label ? " " + s.label : ""}, ` +
          `${group((s.end - s.start) / d.ticks)} cycles, ${group(s.start / d.ticks)} to ${group(s.end / d.ticks)}`;
      };
      const s = span(i);
      detail.append(el("strong", { textContent: line(i) }));
      if (s.site) detail.append(el("br"), el("code", { textContent: `${s.site.at}  ${s.site.text}` }));
      for (const [words, by] of [["woken by ", s.woken], ["started by ", s.started]]) {
        if (by >= 0) detail.append(el("br"), words, el("a", { href: "#", textContent: line(by), onclick: e => { e.preventDefault(); go(by); } }));
      }
    }

    function go(i) {
      const s = span(i), w = to - from;
      kept = i;
      const fits = s.end - s.start <= w;
      if (s.end <= from || s.start >= to || fits && (s.start < from || s.end > to)) {
        from = Math.min(Math.max(0, (fits ? (s.start + s.end) / 2 : s.start) - w / 2), d.end - w);
        to = from + w;
      }
      tell(i);
      draw();
    }

    // The operation of a row that lasts at a time, or else the next one.
    const during = (r, t) => r.spans.find(i => S[i * W + 2] + S[i * W + 3] > t);
    // By the keys: to another row, at the same time; to another operation of the row; to what woke or started this one.
    function rowBy(step) {
      const s = kept >= 0 ? span(kept) : null, t = s ? Math.max(s.start, from) : from;
      for (let r = s ? s.row + step : step > 0 ? 0 : rows.length - 1; rows[r]; r += step) {
        const i = during(rows[r], t);
        if (i !== undefined) return go(i);
      }
    }
    function operationBy(step) {
      if (kept < 0) return rowBy(1);
      const all = rows[span(kept).row].spans, i = all[all.indexOf(kept) + step];
      if (i !== undefined) go(i);
    }
    function waker() {
      const s = kept >= 0 ? span(kept) : null, by = !s ? -1 : s.woken >= 0 ? s.woken : s.started;
      if (by >= 0) go(by);
    }

    let drag = null;
    canvas.onpointerdown = e => { drag = { x: e.clientX, from, moved: false }; canvas.setPointerCapture(e.pointerId); };
    canvas.onpointermove = e => {
      if (drag) {
        const by = (drag.x - e.clientX) / plot() * (to - from);
        drag.moved ||= Math.abs(e.clientX - drag.x) > 3;
        const w = to - from;
        from = Math.min(Math.max(0, drag.from + by), d.end - w);
        to = from + w;
        draw();
        return;
      }
      const i = at(e);
      if (i !== over) { over = i; if (kept < 0) tell(i); draw(); }
    };
    canvas.onpointerup = e => {
      if (drag && !drag.moved) { kept = at(e); tell(kept); draw(); }
      drag = null;
    };
    canvas.ondblclick = e => { const r = canvas.getBoundingClientRect(); zoom(0.5, time(e.clientX - r.left)); draw(); };
    canvas.onwheel = e => {
      // The wheel alone scrolls the page.
      if (!e.ctrlKey && !e.metaKey && !e.shiftKey) return;
      e.preventDefault();
      const r = canvas.getBoundingClientRect();
      zoom((e.deltaY || e.deltaX) > 0 ? 1.25 : 0.8, time(e.clientX - r.left));
      draw();
    };
    canvas.onkeydown = e => {
      const keys = { "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), a: () => { from = 0; to = d.end; },
        Home: () => { [from, to] = d.opening || [0, d.end]; }, ArrowLeft: () => pan((from - to) / 8), ArrowRight: () => pan((to - from) / 8),
        ArrowUp: () => rowBy(-1), ArrowDown: () => rowBy(1), "[": () => operationBy(-1), "]": () => operationBy(1), w: waker,
        Escape: () => { kept = -1; tell(-1); } };
      if (keys[e.key] && !e.ctrlKey && !e.metaKey) { e.preventDefault(); keys[e.key](); draw(); }
    };
    addEventListener("resize", draw);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    draw();
    const used = new Set();
    for (let i = 0; i < count; i++) used.add(S[i * W + 4]);
    const legend = el("div", { className: "legend" });
    for (const cls of [...used].sort((a, b) => a - b)) {
      if (d.classes[cls].again) continue;
      const swatch = el("canvas", { width: 28, height: 14 }), sw = swatch.getContext("2d"), c = d.classes[cls];
      sw.fillStyle = pattern(sw, c, dark() ? 1 : 0) || c.fill[dark() ? 1 : 0];
      sw.fillRect(0, 0, 28, 14);
      legend.append(el("span", {}, swatch, " " + c.name));
    }
    box.append(legend);
  }

  for (const box of document.querySelectorAll(".end")) box.scrollTop = box.scrollHeight;
  for (const box of document.querySelectorAll(".timeline")) {
    timeline(box, JSON.parse(document.getElementById(box.dataset.of).textContent));
  }
})();
