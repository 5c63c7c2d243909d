'use strict';
// What the clients for Node share: the arguments, the expected rows, one line for each check.
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');

const [port, table, mirror] = [Number(process.argv[2]), process.argv[3], Number(process.argv[4])];
const added = {id: 5001, title: 'Größe "M", it\'s 5\\6', price: 7, rating: 2.5, brand: 'Zest', stock: -5};

// Whole numbers beyond 2^53 are numbers that are not exact in this language, as drivers give them by default.
const readers = {int: Number, float: Number, text: String};
const [head, ...lines] = fs.readFileSync(path.join(__dirname, 'expected.tsv'), 'utf8').trimEnd().split('\n');
const columns = head.split('\t').map((column) => column.split(':'));
const expected = lines.map((line) => Object.fromEntries(
    line.split('\t').map((cell, i) => [columns[i][0], readers[columns[i][1]](cell)])));

const unknownColumn = [1054, 1064];  // of MySQL, of the engine
let passed = 0;
let failed = 0;

// Prints how `work` ended; an exception in it is a failure, and the next check follows.
async function check(name, work) {
  try {
    await work();
    ++passed;
    console.log(`ok ${name}`);
  } catch (error) {
    ++failed;
    console.log(`FAILED ${name}: ${String(error.message || error).split(/\s+/).join(' ').slice(0, 600)}`);
  }
}

function pick(row, names) {
  return Object.fromEntries(names.map((name) => [name, row[name]]));
}

// The columns `names` of the rows of a page of four.
function page(number, names) {
  return expected.slice(4 * number, 4 * number + 4).map((row) => pick(row, names));
}

async function fails(work, ...codes) {
  await assert.rejects(work, (error) => {
    const {errno} = error.original || error.driverError || error;
    assert.ok(codes.includes(errno), `${errno} instead of ${codes}: ${error.message}`);
    return true;
  });
}

// Asks before and after the end of a mirror; four statements are always in progress where the client can do so.
async function asksWhileAMirrorEnds(ask) {
  for (let turn = 0; turn < 20; ++turn) {
    const answers = [ask(), ask(), ask(), ask()];
    if (turn === 5) process.kill(mirror, 'SIGKILL');
    await Promise.all(answers);
  }
}

function finish() {
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0);
}

module.exports = {
  added, asksWhileAMirrorEnds, check, columns: columns.map(([name]) => name), expected, fails, finish, page, pick, port,
  table, unknownColumn,
};
