// The dashboard in a browser: node dashboard.cjs PROGRAMS CHROMIUM
'use strict';
const {spawn} = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const {chromium} = require('playwright-core');

const [programs, browserPath] = process.argv.slice(2);
const shots = path.join(programs, 'dashboard');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'karmad-dashboard-'));
const children = [];
let browser = null;

// What the page needs to show a frozen mirror within two seconds: pings twice a second that wait half
// a second.
const kSettings = ['ha_ping_interval = 500ms', 'ping_timeout = 500ms', 'agent_query_timeout = 500ms', 'agent_retry_count = 1'];
const kLimit = 2000;  // milliseconds until the page shows a change
const kSlowLimit = 10000;  // slowness is told from chance by the answers of some seconds

const check = (condition, what) => { if (!condition) throw new Error(what); };
const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });
async function eventually(what, limit, condition) {
  const until = performance.now() + limit;
  for (;;) {
    const value = await condition();
    if (value) return value;
    check(performance.now() < until, `not within ${limit} ms: ${what}`);
    await pause(20);
  }
}

function start(program, args, log) {
  const out = fs.openSync(log, 'w');
  const child = spawn(path.join(programs, program), args, {stdio: ['ignore', out, out]});
  children.push(child);
  return child;
}
const written = (log, pattern) => (fs.readFileSync(log, 'utf8').match(pattern) ?? [])[1];

function ask(port, target, body) {
  return new Promise((done, fail) => {
    const request = http.request({host: '127.0.0.1', port, path: target, method: body ? 'POST' : 'GET',
      agent: false, timeout: 5000}, (answer) => {
      let text = '';
      answer.on('data', (part) => { text += part; });
      answer.on('end', () => done({status: answer.statusCode, text}));
    });
    request.on('error', fail);
    request.end(body);
  });
}

async function agent(number, shard) {
  const log = path.join(folder, `agent${number}.log`);
  const child = start('karmad-demo-agent', ['--listen', '127.0.0.1:0', '--shard', shard, '--documents', '200'], log);
  const port = Number(await eventually('an agent listens', 10000, () => written(log, /listening on 127\.0\.0\.1:(\d+)/)));
  return {child, port, address: `127.0.0.1:${port}`};
}

async function balancer(agents) {
  const config = path.join(folder, 'karmad.conf');
  const log = path.join(folder, 'karmad.log');
  const line = (some) => '    agent = ' + some.map((a) => a.address).join('|') + ':products\n';
  fs.writeFileSync(config, `searchd {\n    listen = 127.0.0.1:0\n${kSettings.map((s) => '    ' + s + '\n').join('')}}\n` +
    `table products {\n    type = distributed\n    ha_strategy = roundrobin\n${line(agents.slice(0, 3))}${line(agents.slice(3))}}\n`);
  start('karmad', ['--config', config], log);
  return Number(await eventually('karmad listens', 10000, () => written(log, /listening on (?:http:\/\/)?127\.0\.0\.1:(\d+)/)));
}

/// Sends searches at an even rate until stop() is called.
function load(port) {
  let running = true;
  let sent = 0;
  const one = () => ask(port, '/search', '{"table":"products","query":{"match_all":{}},"limit":1}').catch(() => {});
  const timer = setInterval(() => { if (running && sent++ < 6000) one(); }, 10);
  return () => { running = false; clearInterval(timer); };
}

const stateOf = (page, address) => page.evaluate(
  (a) => document.querySelector(`tr.mirror[data-address="${a}"]`)?.dataset.state, address);

async function shows(page, what, address, states, limit = kLimit) {
  const began = performance.now();
  await eventually(`${what} is shown as ${states}`, limit, async () => states.includes(await stateOf(page, address)));
  console.log(`${what}: shown as ${await stateOf(page, address)} after ${Math.round(performance.now() - began)} ms`);
}

async function main() {
  const agents = [];
  for (let i = 0; i < 6; ++i) agents.push(await agent(i, i < 3 ? '0/2' : '1/2'));
  const port = await balancer(agents);
  const stop = load(port);

  try {
    browser = await chromium.launch({executablePath: browserPath, timeout: 20000,
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage']});
  } catch (error) {
    console.log(`skipped: the browser does not start here: ${String(error.message).split('\n')[0]}`);
    return 77;
  }
  const page = await browser.newPage({viewport: {width: 1280, height: 900}, colorScheme: 'light'});
  const trouble = [];
  const hosts = new Set();
  page.on('console', (message) => { if (message.type() === 'error') trouble.push(message.text()); });
  page.on('pageerror', (error) => trouble.push(String(error)));
  page.on('request', (request) => { if (!request.url().startsWith('data:')) hosts.add(new URL(request.url()).host); });
  await page.goto(`http://127.0.0.1:${port}/dashboard`);

  await eventually('all is well', 15000, async () =>
    (await page.textContent('#verdict')).includes('all well') && (await page.locator('tr.mirror').count()) === 6);
  await eventually('a latency is shown', 15000, () => page.evaluate(
    () => [...document.querySelectorAll('td[data-label="p95 ms"]')].every((cell) => /\d/.test(cell.textContent))));
  await page.screenshot({path: path.join(shots, 'well.png'), fullPage: true});

  agents[0].child.kill('SIGKILL');
  await shows(page, 'a killed mirror', agents[0].address, ['dead', 'failing']);
  const verdict = await page.textContent('#verdict');
  check(verdict.includes(agents[0].address), `the verdict names the mirror: ${verdict}`);
  const agreed = await eventually('the page has the diagnosis of /agents', kLimit, async () => {
    const {text} = await ask(port, '/agents');
    const mirror = JSON.parse(text).tables[0].shards[0].mirrors[0];
    const shown = await page.textContent(`tr.mirror[data-address="${agents[0].address}"] td[data-label="Diagnosis"]`);
    return shown === mirror.diagnosis ? shown : null;
  });
  check(verdict.includes(agreed.split(' since ')[0]), `the verdict has the same diagnosis: ${verdict}`);
  const slowed = await ask(agents[3].port, '/control?latency=fixed:40');
  check(slowed.status === 200, `the agent takes its switch: ${slowed.text}`);
  await shows(page, 'a slowed mirror', agents[3].address, ['slow'], kSlowLimit);
  agents[4].child.kill('SIGSTOP');
  await shows(page, 'a frozen mirror', agents[4].address, ['dead', 'failing']);
  check((await page.locator('#events li').count()) >= 3, 'the events are listed');
  const rates = await page.textContent('#rates');
  check(/requests\/s[1-9]/.test(rates.replace(/\s/g, '')), `the rate of requests is shown: ${rates}`);

  // By keyboard: the first mirror's charts.
  const focused = () => page.evaluate(() => document.activeElement?.closest('tr.mirror') !== null);
  for (let i = 0; i < 20 && !(await focused()); ++i) await page.keyboard.press('Tab');
  check(await focused(), 'a mirror is reached with the Tab key');
  await page.keyboard.press('Enter');
  await eventually('the charts are drawn', 3000, async () => (await page.locator('canvas').count()) === 3);
  await pause(1500);
  await page.screenshot({path: path.join(shots, 'light.png')});
  await page.emulateMedia({colorScheme: 'dark'});
  await pause(300);
  await page.screenshot({path: path.join(shots, 'dark.png')});

  await page.setViewportSize({width: 360, height: 740});
  await pause(300);
  const [width, visible] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  check(width <= visible, `a narrow page does not scroll sideways: ${width} > ${visible}`);
  await page.screenshot({path: path.join(shots, 'phone.png')});

  agents[4].child.kill('SIGCONT');
  await ask(agents[3].port, '/control?latency=fixed:0');
  stop();
  check(trouble.length === 0, `the browser reports errors: ${trouble.join('; ')}`);
  check(hosts.size === 1, `the page asks its own origin only: ${[...hosts]}`);
  return 0;
}

main().catch((error) => { console.error(String(error.stack ?? error)); return 1; }).then(async (status) => {
  if (browser) await browser.close();
  for (const child of children) { child.kill('SIGCONT'); child.kill('SIGKILL'); }
  fs.rmSync(folder, {recursive: true, force: true});
  process.exit(status);
});
