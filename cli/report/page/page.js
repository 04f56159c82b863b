'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const byId = (id) => document.getElementById(id);
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();

// `step`, for axes: what must still be told apart.
function bytesText(count, step) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  let value = count;
  while (Math.abs(value) >= 1024 && unit + 1 < units.length) { value /= 1024; ++unit; }
  let digits = unit === 0 || value >= 100 ? 0 : 1;
  if (step > 0 && unit > 0) digits = Math.max(0, Math.min(3, Math.ceil(-Math.log10(step / 1024 ** unit) - 1e-9)));
  return value.toFixed(digits) + ' ' + units[unit];
}

// `step` as for bytes.
function timeText(seconds, step) {
  const [size, unit] = seconds >= 1 ? [1, ' s'] : seconds >= 1e-3 ? [1e-3, ' ms'] : [1e-6, ' \u00b5s'];
  let digits = size < 1e-3 ? 0 : seconds < 10 * size ? 2 : 1;
  if (step > 0) digits = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step / size) - 1e-9)));
  return (seconds / size).toFixed(digits) + unit;
}

function element(tag, attributes, text) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function drawn(tag, attributes, text) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// Round values that divide [from, to] into about `count` parts; of bytes by powers of two.
function ticks(from, to, count, binary) {
  const rough = (to - from) / Math.max(count, 1);
  if (!(rough > 0)) return [from];
  let step;
  if (binary) {
    step = Math.pow(2, Math.round(Math.log2(rough)));
  } else {
    const power = Math.pow(10, Math.floor(Math.log10(rough)));
    step = [1, 2, 5, 10].map((n) => n * power).find((s) => s >= rough);
  }
  const result = [];
  for (let at = Math.ceil(from / step) * step; at <= to + step * 1e-9; at += step) result.push(at);
  return result;
}

// When each step of a program begins: one after another, waiting for transfers as the plan says.
function stepTimes(program) {
  const steps = program.steps;
  const starting = steps.map(() => []).concat([[]]);
  const finishing = steps.map(() => []).concat([[]]);
  const ends = [];
  const begins = [];
  program.transfers.forEach((transfer, i) => {
    starting[transfer.start].push(i);
    finishing[transfer.finish].push(i);
  });
  const free = {store: 0, fetch: 0};
  const times = [];
  let now = 0;
  for (let step = 0; step <= steps.length; ++step) {
    for (const i of finishing[step]) {
      if (program.transfers[i].start < step) now = Math.max(now, ends[i]);
    }
    for (const direction of ['store', 'fetch']) {
      for (const i of starting[step]) {
        const transfer = program.transfers[i];
        if (transfer.direction !== direction) continue;
        begins[i] = Math.max(free[direction], now);
        free[direction] = ends[i] = begins[i] +
            program.values[transfer.value].bytes / program[direction + '_bytes_per_second'];
      }
      for (const i of starting[step]) {
        const transfer = program.transfers[i];
        if (transfer.direction === direction && transfer.finish === step) now = Math.max(now, ends[i]);
      }
    }
    times.push(now);
    if (step < steps.length) now += program.nodes[steps[step].node].seconds;
  }
  return {times, begins, ends};
}

const roles = [
  ['parameter', 'weights'], ['optimizer', 'optimizer state'], ['statistic', 'running statistics'],
  ['constant', 'constants'], ['input', 'inputs'], ['kept', 'activations kept'],
  ['recomputed', 'recomputed'], ['spilled', 'spilled'], ['gradient', 'gradients'],
  ['workspace', 'workspace']];

// Each buffer with its colour and its stretch of time.
function layOut(program) {
  const {times, begins, ends} = stepTimes(program);
  const computed = new Map();
  const again = new Set();
  program.steps.forEach((step) => {
    step.out.forEach((place) => {
      const buffer = Array.isArray(place) ? place[0] : place;
      if (step.again) again.add(buffer);
    });
    for (const value of program.nodes[step.node].out) {
      computed.set(value, (computed.get(value) || 0) + 1);
    }
  });
  const moved = new Set(program.transfers.map((transfer) => transfer.buffer));
  const rects = program.buffers.map((buffer, index) => {
    const value = buffer.value === undefined ? null : program.values[buffer.value];
    let role = value ? value.role : 'workspace';
    if (role === 'scalar') role = 'input';
    if (role === 'activation') {
      role = again.has(index) || computed.get(buffer.value) > 1 ? 'recomputed' : 'kept';
    }
    if (buffer.kind === 'transient' && moved.has(index)) role = 'spilled';
    return {
      index, buffer, value, role,
      from: buffer.kind === 'persistent' ? 0 : times[buffer.first],
      to: times[Math.min(buffer.last + 1, times.length - 1)],
    };
  });
  return {program, times, rects, transferBegins: begins, transferEnds: ends,
          total: times[times.length - 1]};
}

class Tide {
  constructor(canvas, tip, layout, limit) {
    Object.assign(this, {canvas, tip, limit});
    // Above the chart a line for the peak's caption and one for the budget's.
    this.margin = {left: 74, right: 12, top: 38, bottom: 50};
    this.drag = null;
    this.show(layout);
    canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? 0.8 : 1.25, this.timeAt(this.point(event).x));
    }, {passive: false});
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.drag = {from: this.point(event).x, to: this.point(event).x};
    });
    canvas.addEventListener('pointermove', (event) => this.moved(this.point(event)));
    canvas.addEventListener('pointerup', () => this.released());
    canvas.addEventListener('pointerleave', () => { this.tip.hidden = true; });
    canvas.addEventListener('dblclick', () => { this.all(); this.draw(); });
    canvas.addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
  }

  show(layout) {
    this.layout = layout;
    const arena = layout.program.arena_bytes;
    // A budget far above the arena would leave the chart empty; it is then written at the top.
    this.top = this.limit <= 1.5 * arena ? Math.max(this.limit, arena) * 1.02 : arena * 1.05;
    this.all();
    this.draw();
  }

  all() { this.from = 0; this.to = this.layout.total || 1; }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    return {x: event.clientX - box.left, y: event.clientY - box.top};
  }
  get width() { return this.canvas.clientWidth - this.margin.left - this.margin.right; }
  get height() { return this.canvas.clientHeight - this.margin.top - this.margin.bottom; }
  x(time) { return this.margin.left + (time - this.from) / (this.to - this.from) * this.width; }
  y(offset) { return this.margin.top + this.height * (1 - offset / this.top); }
  timeAt(x) { return this.from + (x - this.margin.left) / this.width * (this.to - this.from); }

  zoom(factor, around) {
    const span = Math.min((this.to - this.from) * factor, this.layout.total);
    if (span < this.layout.total * 1e-5) return;
    const share = (around - this.from) / (this.to - this.from);
    this.from = Math.min(Math.max(0, around - share * span), this.layout.total - span);
    this.to = this.from + span;
    this.draw();
  }

  key(event) {
    const middle = (this.from + this.to) / 2;
    const step = (this.to - this.from) / 5;
    const shift = (by) => {
      const span = this.to - this.from;
      this.from = Math.min(Math.max(0, this.from + by), this.layout.total - span);
      this.to = this.from + span;
      this.draw();
    };
    const actions = {
      ArrowLeft: () => shift(-step), ArrowRight: () => shift(step),
      '+': () => this.zoom(0.7, middle), '=': () => this.zoom(0.7, middle),
      '-': () => this.zoom(1.4, middle), '0': () => { this.all(); this.draw(); },
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }

  moved(point) {
    if (this.drag) {
      this.drag.to = point.x;
      this.draw();
      return;
    }
    const time = this.timeAt(point.x);
    const offset = this.top * (1 - (point.y - this.margin.top) / this.height);
    const step = this.stepAt(time);
    const hit = this.layout.rects.find(({buffer, from, to}) => from <= time && time < to &&
        buffer.offset <= offset && offset < buffer.offset + buffer.size);
    if (step < 0 || (!hit && offset > this.top)) { this.tip.hidden = true; return; }
    this.tip.textContent = this.describe(hit, step);
    this.tip.hidden = false;
    const box = this.tip.getBoundingClientRect();
    const left = point.x + 16 + box.width > this.canvas.clientWidth ? point.x - box.width - 12 : point.x + 16;
    this.tip.style.left = Math.max(0, left) + 'px';
    this.tip.style.top = Math.min(point.y + 12, Math.max(0, this.canvas.clientHeight - box.height)) + 'px';
  }

  released() {
    if (!this.drag) return;
    const times = [this.timeAt(this.drag.from), this.timeAt(this.drag.to)].sort((a, b) => a - b);
    const wide = Math.abs(this.drag.to - this.drag.from) > 6;
    this.drag = null;
    if (wide) {
      this.from = Math.max(0, times[0]);
      this.to = Math.min(this.layout.total, times[1]);
    }
    this.draw();
  }

  stepAt(time) {
    const times = this.layout.times;
    if (time < 0 || time >= this.layout.total) return -1;
    let low = 0;
    let high = times.length - 1;
    while (low + 1 < high) {
      const middle = (low + high) >> 1;
      if (times[middle] <= time) low = middle; else high = middle;
    }
    return low;
  }

  describe(hit, step) {
    const program = this.layout.program;
    const executed = program.steps[step];
    const node = program.nodes[executed.node];
    const now = 'step ' + step + ' of ' + program.steps.length + ': ' + node.name + ' (' + node.op + ', ' +
        node.phase + (executed.again ? ', again' : '') + ', ' + timeText(node.seconds) + ')';
    if (!hit) return now;
    const {buffer, value, role} = hit;
    const label = roles.find(([name]) => name === role)[1];
    const name = value ? value.name + '\n' + value.type :
        'workspace of ' + program.nodes[program.steps[buffer.first].node].name;
    const life = buffer.kind === 'persistent' ? 'always there' :
        'steps ' + buffer.first + ' to ' + buffer.last;
    return name + '\n' + label + ', ' + bytesText(buffer.size) + ' at ' + bytesText(buffer.offset) +
        ', ' + life + '\n' + now;
  }

  draw() {
    const {canvas, margin, layout} = this;
    const scale = window.devicePixelRatio || 1;
    canvas.width = Math.round(canvas.clientWidth * scale);
    canvas.height = Math.round(canvas.clientHeight * scale);
    const pen = canvas.getContext('2d');
    pen.scale(scale, scale);
    pen.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
    pen.font = '12px system-ui, sans-serif';
    this.drawAxes(pen);
    pen.save();
    pen.beginPath();
    pen.rect(margin.left, 0, this.width, canvas.clientHeight);
    pen.clip();
    const colours = Object.fromEntries(roles.map(([role]) => [role, css(role)]));
    const edge = css('card');
    for (const {buffer, role, from, to} of layout.rects) {
      const x = this.x(from);
      const w = Math.max(this.x(to) - x, 1);
      if (x + w < margin.left || x > margin.left + this.width) continue;
      const y = this.y(buffer.offset + buffer.size);
      const h = Math.max(this.y(buffer.offset) - y, 0.5);
      pen.fillStyle = colours[role];
      pen.fillRect(x, y, w, h);
      if (w > 4 && h > 4) {
        pen.strokeStyle = edge;
        pen.lineWidth = 0.6;
        pen.strokeRect(x, y, w, h);
      }
    }
    this.drawStrips(pen);
    this.drawMarks(pen);
    if (this.drag) {
      pen.fillStyle = css('accent');
      pen.globalAlpha = 0.25;
      pen.fillRect(this.drag.from, margin.top, this.drag.to - this.drag.from, this.height);
      pen.globalAlpha = 1;
    }
    pen.restore();
  }

  drawAxes(pen) {
    const {margin} = this;
    pen.fillStyle = css('faint');
    pen.strokeStyle = css('line');
    pen.lineWidth = 1;
    pen.textAlign = 'right';
    pen.textBaseline = 'middle';
    const offsets = ticks(0, this.top, 6, true);
    for (const offset of offsets) {
      pen.fillText(bytesText(offset, offsets[1]), margin.left - 8, this.y(offset));
      pen.beginPath();
      pen.moveTo(margin.left, this.y(offset));
      pen.lineTo(margin.left + this.width, this.y(offset));
      pen.stroke();
    }
    pen.textAlign = 'center';
    pen.textBaseline = 'top';
    const times = ticks(this.from, this.to, 8, false);
    for (const time of times) {
      const text = timeText(time, times[1] - times[0]);
      const most = this.canvas.clientWidth - pen.measureText(text).width / 2;
      pen.fillText(text, Math.min(this.x(time), most), margin.top + this.height + 26);
    }
  }

  // Below the chart: phases; and where there are transfers, both directions.
  drawStrips(pen) {
    const {program, times, transferBegins, transferEnds} = this.layout;
    const bottom = this.margin.top + this.height;
    const colours = {forward: css('kept'), loss: css('budget'), backward: css('gradient'),
                     update: css('parameter')};
    const strip = (from, to, y, h, colour) => {
      pen.fillStyle = colour;
      pen.fillRect(this.x(from), y, Math.max(this.x(to) - this.x(from), 0.5), h);
    };
    program.steps.forEach((step, i) => {
      const colour = step.again ? css('recomputed') : colours[program.nodes[step.node].phase];
      strip(times[i], times[i + 1], bottom + 4, 7, colour);
    });
    program.transfers.forEach((transfer, i) => {
      const y = bottom + (transfer.direction === 'store' ? 13 : 18);
      strip(transferBegins[i], transferEnds[i], y, 4, css('spilled'));
    });
  }

  drawMarks(pen) {
    const {program, times} = this.layout;
    const {margin} = this;
    if (program.steps.length > 0) {
      const x = this.x((times[program.peak_step] + times[program.peak_step + 1]) / 2);
      pen.strokeStyle = css('ink');
      pen.setLineDash([3, 3]);
      pen.beginPath();
      pen.moveTo(x, margin.top - 6);
      pen.lineTo(x, margin.top + this.height);
      pen.stroke();
      pen.setLineDash([]);
      pen.fillStyle = css('ink');
      const left = x < margin.left + this.width / 2;
      pen.textAlign = left ? 'left' : 'right';
      pen.textBaseline = 'top';
      const node = program.nodes[program.steps[program.peak_step].node].name;
      pen.fillText('peak ' + bytesText(program.peak_live_bytes) + ' at ' + node, x + (left ? 5 : -5), 1);
    }
    const shown = this.limit <= this.top;
    const y = shown ? this.y(this.limit) : margin.top;
    pen.fillStyle = pen.strokeStyle = css('budget');
    if (shown) {
      pen.lineWidth = 1.5;
      pen.beginPath();
      pen.moveTo(margin.left, y);
      pen.lineTo(margin.left + this.width, y);
      pen.stroke();
    }
    const text = shown ? 'the budget\u2019s arena: ' + bytesText(this.limit) :
        'the budget leaves ' + bytesText(this.limit - program.arena_bytes) + ' above the arena';
    const right = margin.left + this.width - 4;
    const wide = pen.measureText(text).width;
    pen.clearRect(right - wide - 4, y - 15, wide + 8, 14);  // the peak's line may pass here
    pen.textAlign = 'right';
    pen.textBaseline = 'bottom';
    pen.fillText(text, right, y - 2);
  }
}

// A line chart: series of {name, points: [[x, y]], colour, dash}.
class Lines {
  constructor(svg, {series, xText, yText, xLabel, yLabel, binary, marks}) {
    Object.assign(this, {svg, series, xText, yText, xLabel, yLabel, binary, marks: marks || []});
    new ResizeObserver(() => this.draw()).observe(svg);
  }

  draw() {
    const {svg} = this;
    const width = svg.clientWidth;
    const height = svg.clientHeight;
    const margin = {left: 82, right: 18, top: 26, bottom: 40};
    svg.replaceChildren();
    svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    const points = this.series.flatMap((one) => one.points).concat(this.marks.map((mark) => mark.at));
    if (points.length === 0) return;
    const range = (values) => {
      const low = Math.min(...values);
      const high = Math.max(...values);
      const pad = (high - low || Math.abs(high) || 1) * 0.06;
      return [low - pad, high + pad];
    };
    const extent = (axis) => {
      let low = Infinity;
      let high = -Infinity;
      for (const point of points) { low = Math.min(low, point[axis]); high = Math.max(high, point[axis]); }
      return range([low, high]);
    };
    const [x0, x1] = extent(0);
    const [y0, y1] = extent(1);
    const x = (value) => margin.left + (value - x0) / (x1 - x0) * (width - margin.left - margin.right);
    const y = (value) => height - margin.bottom - (value - y0) / (y1 - y0) * (height - margin.top - margin.bottom);
    const beside = ticks(y0, y1, 5, false);
    for (const at of beside) {
      svg.append(drawn('line', {class: 'grid', x1: margin.left, x2: width - margin.right, y1: y(at), y2: y(at)}),
          drawn('text', {x: margin.left - 8, y: y(at) + 4, 'text-anchor': 'end'}, this.yText(at, beside[1] - beside[0])));
    }
    const below = ticks(x0, x1, Math.max(2, width / 130), this.binary);
    for (const at of below) {
      svg.append(drawn('text', {x: x(at), y: height - margin.bottom + 18, 'text-anchor': 'middle'},
          this.xText(at, below.length > 1 ? below[1] - below[0] : 0)));
    }
    svg.append(drawn('text', {x: width - margin.right, y: height - 4, 'text-anchor': 'end'}, this.xLabel),
        drawn('text', {x: margin.left + 6, y: 12}, this.yLabel));
    for (const one of this.series) {
      const path = one.points.map((point, i) => (i ? 'L' : 'M') + x(point[0]).toFixed(1) + ' ' + y(point[1]).toFixed(1));
      svg.append(drawn('path', {class: 'curve', d: path.join(''), stroke: one.colour,
                                'stroke-dasharray': one.dash || 'none'}));
      if (!one.dots) continue;
      for (const point of one.points) {
        const dot = drawn('circle', {cx: x(point[0]), cy: y(point[1]), r: 3.2, fill: one.colour});
        dot.append(drawn('title', {}, one.name + ': ' + this.xText(point[0]) + ', ' + this.yText(point[1])));
        svg.append(dot);
      }
    }
    for (const mark of this.marks) {
      const circle = drawn('circle', {cx: x(mark.at[0]), cy: y(mark.at[1]), r: 7, fill: 'none',
                                      stroke: css('ink'), 'stroke-width': 2});
      circle.append(drawn('title', {}, mark.name));
      const left = x(mark.at[0]) > width / 2;
      svg.append(circle, drawn('text', {x: x(mark.at[0]) + (left ? -12 : 12), y: y(mark.at[1]) - 8,
                                        'text-anchor': left ? 'end' : 'start'}, mark.name));
    }
  }
}

function fillLegend(list, series) {
  list.append(...series.map((one) => {
    const item = element('li');
    item.append(element('span', {style: 'background:' + one.colour}), one.name);
    return item;
  }));
}

function fillTable(table, head, rows) {
  const cell = (tag, content, number) => {
    const made = element(tag, number ? {class: 'number'} : tag === 'td' ? {class: 'name'} : {});
    if (content && content.bar !== undefined) {
      made.append(content.text, element('span', {class: 'bar', style: 'width:' + (100 * content.bar).toFixed(1) + '%'}));
    } else {
      made.textContent = content;
    }
    return made;
  };
  const line = (tag, cells) => {
    const row = element('tr');
    cells.forEach((content, i) => {
      const made = cell(tag, content, head[i].number);
      if (tag === 'th') made.setAttribute('scope', 'col');
      row.append(made);
    });
    return row;
  };
  const header = element('thead');
  header.append(line('th', head.map((column) => column.text)));
  const body = element('tbody');
  for (const row of rows) body.append(line('td', row));
  table.replaceChildren(header, body);
}

function programName(program) {
  if (program.purpose === 'update') return 'update';
  return program.purpose + ' on ' + program.samples + ' samples';
}

function summary() {
  const report = data.report;
  const main = data.plan.programs[0];
  byId('title').textContent = 'Lowtide plan: ' + report.model;
  document.title = byId('title').textContent;
  byId('summary').textContent = [
    'batch ' + report.batch + (report.micro_batch < report.batch ? ' in micro-batches of ' + report.micro_batch : ''),
    'policy ' + report.policy,
    'budget ' + bytesText(report.budget_bytes) + ' (' + bytesText(report.arena_bytes) + ' arena, ' +
        bytesText(report.runtime_bytes) + ' runtime; smallest that works ' + bytesText(report.smallest_feasible_bytes) + ')',
    timeText(report.predicted_seconds) + ' a step predicted from ' +
        (report.costs === 'measured' ? 'measured costs' : 'a model of the machine'),
    main.kept + ' tensors kept, ' + main.recomputed + ' steps repeated' +
        (main.slots.length ? ', ' + main.slots.length + ' tensors spilled' : ''),
  ].join(' \u00b7 ');
}

function tideSection() {
  const limit = data.report.budget_bytes - data.report.runtime_bytes;
  const layouts = data.plan.programs.map(layOut);
  const tide = new Tide(byId('tide'), byId('tip'), layouts[0], limit);
  const legend = () => {
    const used = new Set(tide.layout.rects.map((rect) => rect.role));
    byId('legend').replaceChildren(...roles.filter(([role]) => used.has(role)).map(([role, label]) => {
      const item = element('li');
      item.append(element('span', {style: 'background:var(--' + role + ')'}), label);
      return item;
    }));
  };
  legend();
  if (layouts.length < 2) return;
  const buttons = layouts.map((layout, i) => {
    const button = element('button', {type: 'button', 'aria-pressed': i === 0}, programName(layout.program));
    button.addEventListener('click', () => {
      buttons.forEach((other) => other.setAttribute('aria-pressed', other === button));
      tide.show(layout);
      legend();
    });
    return button;
  });
  byId('programs').append(...buttons);
}

const palette = ['#0b78b8', '#d1495b', '#2a9d63', '#8e6bbf', '#d98a1f', '#5b7f95', '#b0569a', '#7a8b2f'];
const dashes = ['none', '6 3', '2 3', '8 3 2 3', '4 4', '10 4', '1 4', '12 3 3 3'];

function paretoSection() {
  if (!data.sweep) return;
  byId('pareto-section').hidden = false;
  const {curves, budgets} = data.sweep;
  const series = curves.map((curve, i) => ({
    name: curve.policy, colour: palette[i % palette.length], dash: dashes[i % dashes.length], dots: true,
    points: curve.points.map((point) => [point.budget_bytes, point.predicted_seconds]),
  }));
  const chosen = {name: 'this plan', at: [data.report.budget_bytes, data.report.predicted_seconds]};
  const last = budgets[budgets.length - 1];
  if (chosen.at[0] > last) { chosen.at[0] = last; chosen.name = 'this plan, at a larger budget'; }
  const chart = new Lines(byId('pareto'), {
    series, xText: bytesText, yText: timeText, xLabel: 'budget', yLabel: 'time of a step', binary: true,
    marks: [chosen]});
  chart.draw();
  fillLegend(byId('pareto-legend'), series);
  const head = [{text: 'budget', number: true}].concat(curves.map((curve) => ({text: curve.policy, number: true})));
  fillTable(byId('pareto-table'), head, budgets.map((budget) => [bytesText(budget)].concat(curves.map((curve) => {
    const point = curve.points.find((one) => one.budget_bytes === budget);
    if (!point) return '\u2013';
    return timeText(point.predicted_seconds) + ', +' + timeText(point.recomputed_seconds) + ', ' +
        (100 * point.share_of_keep).toFixed(0) + ' %';
  }))));
}

function trainingSection() {
  if (!data.log || data.log.step.length === 0) return;
  byId('curves-section').hidden = false;
  const {log} = data;
  const number = (value) => (Math.abs(value) >= 1e4 || (value !== 0 && Math.abs(value) < 1e-3)) ?
      value.toExponential(1) : String(+value.toPrecision(3));
  const chart = (svg, series, label) => new Lines(svg, {
    series, xText: (value) => Number.isInteger(value) ? String(value) : '', yText: number, xLabel: 'step',
    yLabel: label}).draw();
  const training = (name, values) => ({name, points: values.map((value, i) => [log.step[i], value]), colour: css('accent')});
  const validated = (name, values) => ({
    name, points: values.map((value, i) => [log.validation.step[i], value]), colour: css('recomputed'), dots: true});
  const losses = [training('training', log.loss)];
  if (log.validation.step.length > 0) losses.push(validated('validation', log.validation.loss));
  chart(byId('loss'), losses, 'loss');
  if (losses.length > 1) fillLegend(byId('loss-legend'), losses);
  for (const [name, values] of Object.entries(log.validation.metrics)) {
    const label = 'validation ' + name.replaceAll('_', ' ');
    const svg = drawn('svg', {role: 'img', 'aria-label': label + ' by step'});
    byId('charts').append(svg);
    chart(svg, [validated(label, values)], label);
  }
  chart(byId('rate'), [training('learning rate', log.lr)], 'learning rate');
  chart(byId('speed'), [training('samples a second', log.samples_per_second)], 'samples a second');
}

function tables() {
  const total = data.report.budget_bytes;
  const spent = Object.entries(data.report.spent).concat([['runtime', data.report.runtime_bytes]]);
  const used = spent.reduce((sum, [, bytes]) => sum + bytes, 0);
  if (total > used) spent.push(['free', total - used]);
  spent.sort((a, b) => b[1] - a[1]);
  fillTable(byId('spent'), [{text: 'at the peak'}, {text: 'bytes', number: true}, {text: 'share', number: true}],
      spent.map(([role, bytes]) => [{text: role, bar: bytes / total}, bytesText(bytes),
                                    (100 * bytes / total).toFixed(1) + ' %']));
  fillTable(byId('helpful'), [{text: 'tensor'}, {text: 'bytes', number: true}, {text: 'to compute again', number: true}, {text: 'why it stays'}],
      data.tensors.map((tensor) => [tensor.name, bytesText(tensor.bytes),
                                    tensor.repeatable ? timeText(tensor.again_seconds) : '\u2013', tensor.why]));
  const ops = new Map();
  const program = data.plan.programs[0];
  for (const step of program.steps) {
    const node = program.nodes[step.node];
    const key = node.op + '|' + node.phase;
    const row = ops.get(key) || {op: node.op, phase: node.phase, kernels: new Set(), runs: 0, again: 0, seconds: 0, repeated: 0};
    row.kernels.add(node.kernel);
    row.runs += 1;
    row.seconds += node.seconds;
    if (step.again) { row.again += 1; row.repeated += node.seconds; }
    ops.set(key, row);
  }
  const rows = [...ops.values()].filter((row) => row.seconds > 0).sort((a, b) => b.seconds - a.seconds);
  const all = rows.reduce((sum, row) => sum + row.seconds, 0) || 1;
  fillTable(byId('ops'), [{text: 'op'}, {text: 'phase'}, {text: 'kernel'}, {text: 'runs', number: true}, {text: 'again', number: true},
                          {text: 'time', number: true}, {text: 'of that again', number: true}, {text: 'share', number: true}],
      rows.map((row) => [{text: row.op, bar: row.seconds / all}, row.phase, [...row.kernels].join(', '), row.runs, row.again,
                         timeText(row.seconds), timeText(row.repeated), (100 * row.seconds / all).toFixed(1) + ' %']));
  if (data.report.notes.length === 0) return;
  byId('notes-section').hidden = false;
  byId('notes').append(...data.report.notes.map((note) => element('li', {}, note)));
}

summary();
tideSection();
paretoSection();
trainingSection();
tables();
