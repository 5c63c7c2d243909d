'use strict';
(() => {
  const charts = JSON.parse(document.getElementById('data').textContent);
  const canvases = document.querySelectorAll('canvas');
  const kColours = 8;
  const kDashes = [[], [7, 4], [2, 3]];
  const kLongestName = 24;

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name);
  const rounded = (value) => String(Number(value.toPrecision(3)));
  const seconds = (value) => rounded(value) + ' s';
  const percent = (value) => rounded(value) + ' %';
  const millis = (value) => value < 1 ? rounded(value * 1000) + ' us' :
    value < 1000 ? rounded(value) + ' ms' : rounded(value / 1000) + ' s';
  const name = (text) => text.length > kLongestName ? text.slice(0, kLongestName - 1) + '…' : text;

  const line = ({name: label, place, values}, times, half) => {
    const drawn = place < 0 ? colour('text') : colour('c' + place % kColours);
    return {label: name(label), data: times.map((x, i) => ({x: x + half, y: values[i] ?? null})), borderColor: drawn,
      backgroundColor: drawn, borderWidth: 1.7, borderDash: place < 0 ? [1, 3] : kDashes[place % kDashes.length],
      pointRadius: times.length > 1 ? 0 : 2};
  };
  // Bands are steps: a share is constant within an interval. The last interval ends with the chart.
  const bands = (lines, times, end) => {
    let changed = 0, others = 0;
    return lines.map(({name: label, changes, values}, i) => ({label: name(label), stepped: true, borderWidth: 1,
      data: [...times, end].map((x, at) => ({x, y: values[Math.min(at, values.length - 1)]})), pointRadius: 0,
      borderColor: colour('back'), backgroundColor: colour(changes ? 'c' + changed++ % kColours : 'n' + others++ % 2),
      fill: i === 0 ? 'origin' : '-1'}));
  };
  // Numbered lines at the changes of the scenario.
  const marks = (times) => ({id: 'marks', afterDatasetsDraw({ctx, chartArea: {top, bottom}, scales: {x}}) {
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = colour('text');
    ctx.font = 'bold 11px system-ui, sans-serif';
    ctx.textAlign = 'center';
    ctx.setLineDash([3, 2]);
    let free = -Infinity;
    times.forEach((time, i) => {
      const at = x.getPixelForValue(time);
      ctx.beginPath();
      ctx.moveTo(at, top);
      ctx.lineTo(at, bottom);
      ctx.stroke();
      if (at < free) return;
      free = at + ctx.measureText(i + 1).width + 6;
      ctx.fillText(i + 1, at, top - 4);
    });
    ctx.restore();
  }});

  const draw = (canvas, {kind, seconds: end, marks: changes, times, lines, most}) => {
    const shares = kind === 'shares';
    const text = kind === 'p99' ? millis : percent;
    const half = (times.length > 1 ? times[1] - times[0] : end) / 2;  // to the middle of an interval
    const axis = {grid: {color: colour('line')}};
    const ticks = {color: colour('dim'), maxRotation: 0};
    // Of a logarithmic axis only 1, 2, 3 and 5 of each power of ten.
    const round = (value) => kind !== 'p99' || '1235'.includes(value.toExponential()[0]) ? text(value) : null;
    return new Chart(canvas, {type: 'line', plugins: [marks(changes)],
      data: {datasets: shares ? bands(lines, times, end) : lines.map((each) => line(each, times, half))},
      options: {animation: false, responsive: true, maintainAspectRatio: false, layout: {padding: {top: 16}},
        interaction: {mode: 'nearest', axis: 'x', intersect: false},
        plugins: {
          legend: {position: 'bottom', labels: {color: colour('text'), boxWidth: 28, boxHeight: shares ? 8 : 0}},
          tooltip: {callbacks: {title: ([first]) => seconds(first.parsed.x),
            label: ({dataset, parsed}) => dataset.label + ': ' + text(parsed.y)}}},
        scales: {x: {...axis, type: 'linear', min: 0, max: end, ticks: {...ticks, callback: seconds}},
          y: {...axis, type: kind === 'p99' ? 'logarithmic' : 'linear', stacked: shares, min: kind === 'p99' ? undefined : 0,
            max: shares ? most : undefined, ticks: {...ticks, callback: round}}}}});
  };

  let drawn = [];
  const drawAll = () => {
    for (const chart of drawn) chart.destroy();
    drawn = charts.map((chart, i) => draw(canvases[i], chart));
  };
  drawAll();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
})();
