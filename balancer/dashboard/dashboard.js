'use strict';
(() => {
  const kSamples = 300;   // five minutes
  const kEvents = 100;
  const kShareOver = 10;  // samples over which the share of the traffic is computed
  const kLeastPause = 200; // milliseconds between two polls
  const kManyShards = 20; // more than that: only those in trouble are open
  const levels = {ready: 'good', starting: 'good', unknown: 'unknown', unresolved: 'bad', untrusted: 'bad', slow: 'warn',
    failing: 'bad', dead: 'bad', breaker_open: 'bad', ejected: 'bad', lagging: 'warn', unsuitable: 'warn',
    full: 'warn', drain: 'warn', maint: 'warn', blackhole: 'good'};
  const symbols = {good: '✔', warn: '▲', bad: '✖', unknown: '?'};
  const by = (id) => document.getElementById(id);

  const element = (tag, text, attributes = {}) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  /// Writes only what differs, so that selections, focus and screen readers stay undisturbed.
  const write = (node, text) => { if (node.textContent !== text) node.textContent = text; };
  const level = (node, value) => { if (node.dataset.level !== value) node.dataset.level = value; };

  const number = (value, digits = 0) => value === null || value === undefined ? '–' :
    value.toLocaleString('en', {minimumFractionDigits: digits, maximumFractionDigits: digits});
  const time = (value) => {
    const at = new Date(value);
    return Number.isNaN(at.getTime()) ? '–' : at.toLocaleTimeString('en-GB');
  };
  const percent = (value) => value === null || value === undefined ? '–' : number(value * 100) + ' %';

  // ---- numbers over time

  const history = new Map();  // of a mirror: its samples, the oldest first
  const remember = (key, sample) => {
    const samples = history.get(key) ?? [];
    samples.push(sample);
    if (samples.length > kSamples) samples.shift();
    history.set(key, samples);
  };
  const attemptsIn = (key) => {
    const samples = history.get(key);
    if (!samples || samples.length < 2) return null;
    const first = samples[Math.max(0, samples.length - 1 - kShareOver)];
    return Math.max(0, samples[samples.length - 1].attempts - first.attempts);
  };
  const shareOf = (key, keys) => {
    const own = attemptsIn(key);
    const all = keys.reduce((sum, other) => sum + (attemptsIn(other) ?? 0), 0);
    return own === null || all === 0 ? null : own / all;
  };

  // ---- the requests of the process

  const rates = [
    ['requests/s', ['requests'], 'rate'], ['failed/s', ['queries_failed'], 'rate'],
    ['partial/s', ['answers_partial'], 'rate'], ['retries/s', ['agent_retry'], 'rate'],
    ['hedges/s', ['hedges'], 'rate'], ['hedges won/s', ['hedges_won'], 'rate'],
    ['refused/s', ['tickets_refused', 'requests_over_rate', 'requests_over_client_rate',
      'requests_over_table_rate', 'max_in_flight_refused', 'selections_refused', 'memory_refused',
      'long_work_refused'], 'rate'],
    ['search tickets in use', ['search_tickets_out'], 'value'],
    ['waiting for tickets', ['ingress_tickets_queued', 'search_tickets_queued', 'update_tickets_queued'], 'value'],
    ['connections', ['connections_open'], 'value'],
  ];
  let before = null;
  const showRates = (status, at) => {
    const seconds = before ? (at - before.at) / 1000 : 0;
    for (const [label, keys, kind] of rates) {
      const sum = (of) => keys.reduce((total, key) => total + (Number(of[key]) || 0), 0);
      let tile = by('rate ' + label);
      if (!tile) {
        const box = element('div');
        tile = element('dd', '–', {id: 'rate ' + label});
        box.append(element('dt', label), tile);
        by('rates').append(box);
      }
      if (kind === 'value') write(tile, number(sum(status)));
      else if (seconds > 0) write(tile, number(Math.max(0, sum(status) - sum(before.status)) / seconds, 1));
    }
    before = {status, at};
  };

  // ---- tables, shards and mirrors

  const columns = [
    ['state', 'State', (m) => symbols[levels[m.state] ?? 'unknown'] + ' ' + m.state.replace('_', ' ')],
    ['', 'Since', (m) => time(m.state_since)],
    ['', 'Role', (m) => m.role || '–'],
    ['', 'Share', (m) => percent(m.share)],
    ['', 'Weight', (m) => percent(m.weight)],
    ['', 'p50 ms', (m) => number(m.latency_ms?.p50, 1)],
    ['', 'p95 ms', (m) => number(m.latency_ms?.p95, 1)],
    ['', 'p99 ms', (m) => number(m.latency_ms?.p99, 1)],
    ['', 'In flight', (m) => number(m.in_flight)],
    ['', 'Errors in a row', (m) => number(m.errors_in_a_row)],
    ['', 'Mean ms, periods 1 · 5 · 15', (m) => [1, 5, 15].map((p) => number(m.periods?.[p]?.query_ms_mean, 1)).join(' · ')],
    ['wide left', 'Diagnosis', (m) => m.state === 'ready' ? '' : m.diagnosis],
  ];

  const shards = new Map();  // by key: the elements of a shard
  const opened = new Map();  // by the key of a mirror: its charts

  const shardElements = (key, title) => {
    const box = element('details', undefined, {class: 'shard'});
    const summary = element('summary');
    const heading = element('h3');
    heading.style.display = 'inline';
    heading.append(element('span', title), element('span', '', {class: 'dim'}));
    summary.append(heading);
    const table = element('table');
    const head = element('tr');
    head.append(element('th', 'Mirror', {scope: 'col'}));
    for (const [kind, label] of columns)
      head.append(element('th', label, {scope: 'col', class: kind === '' ? '' : 'left'}));
    const headGroup = element('thead');
    headGroup.append(head);
    const body = element('tbody');
    table.append(headGroup, body);
    box.append(summary, table);
    const made = {box, diagnosis: heading.lastChild, body, rows: new Map(), touched: false};
    summary.addEventListener('click', () => { made.touched = true; });
    shards.set(key, made);
    return made;
  };

  const mirrorRow = (shard, key, address) => {
    const row = element('tr', undefined, {class: 'mirror'});
    const name = element('th', undefined, {scope: 'row'});
    const button = element('button', address, {'aria-expanded': 'false', type: 'button'});
    name.append(button);
    row.append(name);
    const cells = columns.map(([kind, label]) => {
      const cell = element('td', '', {class: kind, 'data-label': label});
      row.append(cell);
      return cell;
    });
    button.addEventListener('click', () => toggleCharts(row, key, button));
    shard.body.append(row);
    const made = {row, cells};
    shard.rows.set(key, made);
    return made;
  };

  const showMirror = (shard, key, mirror) => {
    const {row, cells} = shard.rows.get(key) ?? mirrorRow(shard, key, mirror.address);
    columns.forEach(([, , text], i) => write(cells[i], text(mirror)));
    level(row.cells[1], levels[mirror.state] ?? 'unknown');
    row.dataset.state = mirror.state;
    row.dataset.address = mirror.address;
  };

  /// No mirror of the shard can be asked.
  const isOut = (shard) => shard.can_serve === 0;

  const showShard = (table, shard, at, many) => {
    const key = table.name + '\n' + shard.shard;
    const made = shards.get(key) ?? shardElements(key, `${table.name}, shard ${shard.shard}`);
    const trouble = shard.mirrors.filter((m) => (levels[m.state] ?? 'unknown') !== 'good').length;
    write(made.diagnosis, `: ${shard.diagnosis} (${shard.strategy}, ${shard.kind})`);
    const out = isOut(shard);
    level(made.diagnosis, out ? 'bad' : trouble > 0 ? 'warn' : 'unknown');
    if (!made.touched) made.box.open = trouble > 0 || !many;
    const keys = shard.mirrors.map((m) => key + '\n' + m.mirror + ' ' + m.address);
    shard.mirrors.forEach((m, i) => {
      remember(keys[i], {at, attempts: m.since_start.attempts, p50: m.latency_ms.p50, p95: m.latency_ms.p95,
        p99: m.latency_ms.p99, weight: m.weight, flight: m.in_flight});
    });
    shard.mirrors.forEach((m, i) => {
      m.share = shareOf(keys[i], keys);
      const samples = history.get(keys[i]);
      samples[samples.length - 1].share = m.share;
      if (made.box.open) showMirror(made, keys[i], m);
    });
    for (const [old, {row}] of made.rows)
      if (!keys.includes(old)) { closeCharts(old); row.remove(); made.rows.delete(old); }
    return {key, box: made.box, trouble: out ? 2 : Number(trouble > 0)};
  };

  const showTables = (agents, at) => {
    const many = agents.tables.reduce((sum, t) => sum + t.shards.length, 0) > kManyShards;
    const shown = agents.tables.flatMap((t) => t.shards.map((s) => showShard(t, s, at, many)));
    for (const [key, {box}] of shards)
      if (!shown.some((s) => s.key === key)) { box.remove(); shards.delete(key); }
    const order = shown.slice().sort((a, b) => b.trouble - a.trouble);
    const places = by('tables').children;
    order.forEach(({box}, i) => { if (places[i] !== box) by('tables').insertBefore(box, places[i] ?? null); });
    const known = new Set(shown.map((s) => s.key));
    for (const key of history.keys())
      if (!known.has(key.split('\n', 2).join('\n'))) history.delete(key);
  };

  // ---- charts of one mirror

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
  const plots = [
    ['Latency, ms', [['p50', 'p50', 'first', []], ['p95', 'p95', 'second', [6, 3]], ['p99', 'p99', 'third', [2, 2]]], (v) => v],
    ['Share of the traffic and weight, %', [['share', 'share', 'first', []], ['weight', 'weight', 'second', [6, 3]]],
      (v) => v === null || v === undefined ? null : v * 100],
    ['Attempts in flight', [['in flight', 'flight', 'first', []]], (v) => v],
  ];
  const dataOf = (key, field, convert) => (history.get(key) ?? []).map((s) => convert(s[field] ?? null));
  const labelsOf = (key) => (history.get(key) ?? []).map((s) => time(s.at));

  const chart = (key, [title, lines, convert]) => {
    const figure = element('figure');
    const plot = element('div', undefined, {class: 'plot'});
    const canvas = element('canvas', undefined, {role: 'img', 'aria-label': title + ' over the last five minutes'});
    plot.append(canvas);
    figure.append(element('figcaption', title), plot);
    const axis = {ticks: {color: colour('dim'), maxTicksLimit: 6}, grid: {color: colour('line')}};
    const make = () => new Chart(canvas, {
      type: 'line',
      data: {labels: labelsOf(key), datasets: lines.map(([label, field, name, dash]) => ({
        label, data: dataOf(key, field, convert), borderColor: colour(name), backgroundColor: colour(name),
        borderDash: dash, borderWidth: 2, pointRadius: 0, spanGaps: true}))},
      options: {animation: false, responsive: true, maintainAspectRatio: false,
        interaction: {mode: 'index', intersect: false},
        plugins: {legend: {labels: {color: colour('text')}}},
        scales: {x: {...axis, ticks: {...axis.ticks, maxRotation: 0}}, y: {...axis, beginAtZero: true}}}});
    return {figure, make, lines, convert, drawn: null};
  };

  const toggleCharts = (row, key, button) => {
    if (opened.has(key)) return closeCharts(key);
    const cell = element('td', undefined, {colspan: columns.length + 1});
    const box = element('div', undefined, {class: 'charts'});
    cell.append(box);
    const charted = element('tr', undefined, {class: 'charted'});
    charted.append(cell);
    row.after(charted);
    const charts = plots.map((plot) => chart(key, plot));
    for (const made of charts) { box.append(made.figure); made.drawn = made.make(); }
    button.setAttribute('aria-expanded', 'true');
    opened.set(key, {charts, charted, button});
  };
  const closeCharts = (key) => {
    const of = opened.get(key);
    if (!of) return;
    for (const {drawn} of of.charts) drawn.destroy();
    of.charted.remove();
    of.button.setAttribute('aria-expanded', 'false');
    opened.delete(key);
  };
  const redraw = () => {
    for (const [key, {charts}] of opened)
      for (const {drawn, lines, convert} of charts) {
        drawn.data.labels = labelsOf(key);
        lines.forEach(([, field], i) => { drawn.data.datasets[i].data = dataOf(key, field, convert); });
        drawn.update('none');
      }
  };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    for (const key of [...opened.keys()]) { const {button} = opened.get(key); closeCharts(key); button.click(); }
  });

  // ---- the verdict

  const worst = (agents) => {
    let found = 'good';
    for (const table of agents.tables)
      for (const shard of table.shards) {
        if (isOut(shard)) return 'bad';
        for (const mirror of shard.mirrors) {
          const is = levels[mirror.state] ?? 'unknown';
          if (is === 'bad') return 'bad';
          if (is === 'warn') found = 'warn';
        }
      }
    return found;
  };
  const showVerdict = (agents) => {
    const node = by('verdict');
    const is = agents.verdict === 'all well' ? 'good' : worst(agents) === 'bad' ? 'bad' : 'warn';
    level(node, is);
    write(node.querySelector('.symbol'), symbols[is]);
    write(node.querySelector('.text'), agents.verdict);
    write(by('version'), agents.version);
    document.title = (is === 'good' ? '' : symbols[is] + ' ') + 'karmad: ' + agents.verdict;
  };

  // ---- events

  let newest = 0;
  let pollSoon = () => {};  // ends the pause before the next poll
  const addEvent = (event) => {
    if (event.id <= newest) return;
    newest = event.id;
    const item = element('li');
    const is = {error: 'bad', warning: 'warn'}[event.severity] ?? 'unknown';
    const mark = element('span', {bad: '✖ ', warn: '▲ '}[is] ?? '• ', {role: 'img', 'aria-label': event.severity});
    level(mark, is);
    item.append(mark, element('time', time(event.time), {datetime: event.time}), ' ', event.message);
    by('events').prepend(item);
    while (by('events').children.length > kEvents) by('events').lastChild.remove();
    pollSoon();
  };
  let polls = true;  // until the stream works
  const stream = () => {
    const source = new EventSource('/events?since=' + newest);
    source.addEventListener('open', () => { polls = false; });
    const take = (message) => {
      try { addEvent(JSON.parse(message.data)); } catch { /* not an event of karmad */ }
    };
    for (const kind of ['message', 'started', 'mirror', 'table', 'set', 'reloaded', 'reload_failed', 'stopping',
                        'source_failed', 'source_works', 'mirrors_changed', 'certificates'])
      source.addEventListener(kind, take);
    const again = () => { source.close(); polls = true; setTimeout(stream, 5000); };
    source.addEventListener('end', again);
    source.addEventListener('error', again);
  };

  // ---- polling

  const get = async (path) => {
    const answer = await fetch(path, {cache: 'no-store', signal: AbortSignal.timeout(5000)});
    if (!answer.ok) throw new Error(path + ': status ' + answer.status);
    return answer.json();
  };
  let lost = null;
  const poll = async () => {
    try {
      const [agents, status] = await Promise.all([get('/agents'), get('/status')]);
      const at = Date.now();
      showVerdict(agents);
      showRates(status, at);
      showTables(agents, at);
      redraw();
      if (polls) (await get('/events?since=' + newest)).events.forEach(addEvent);
      lost = null;
      by('connection').hidden = true;
    } catch (error) {
      lost ??= Date.now();
      by('connection').hidden = false;
      write(by('connection'), `✖ no answer from karmad since ${time(lost)}; the numbers below are older (${error.message})`);
    }
  };
  const wait = (ms) => new Promise((done) => { setTimeout(done, ms); });
  const run = async () => {
    for (;;) {
      const began = performance.now();
      const next = began + 1000;
      if (!document.hidden) await poll();
      // Many mirrors make a poll long: news must not keep karmad and the browser busy with polls.
      await wait(Math.max(kLeastPause, 4 * (performance.now() - began)));
      const news = new Promise((done) => { pollSoon = done; });
      await Promise.race([wait(Math.max(0, next - performance.now())), news]);
    }
  };
  run();
  stream();
})();
