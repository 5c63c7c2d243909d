// mysql2 against karmad: node mysql.cjs PORT
'use strict';
const assert = require('node:assert');
const mysql = require('mysql2/promise');

async function refused(work, code) {
  await assert.rejects(work, (error) => error.code === code);
}

async function main(port) {
  const client = await mysql.createConnection(
      {host: '127.0.0.1', port, user: 'any', password: 'secret', database: 'shop', multipleStatements: true});
  const rows = async (how, sql, values) => (await client[how](sql, values))[0];

  const agents = await rows('query', 'SHOW AGENT STATUS');
  assert(agents.some((row) => row.Key === 'ag_1_hostname'));
  assert.deepEqual((await rows('query', 'SHOW TABLES'))[0].Table, 'products');
  const text = await rows('query', 'SELECT id, price, rating, brand FROM products WHERE id=?', [7]);
  const binary = await rows('execute', 'SELECT id, price, rating, brand FROM products WHERE id=? LIMIT ?', [7, 1]);
  assert.strictEqual(text[0].id, 7);
  assert.strictEqual(typeof text[0].rating, 'number');
  assert.deepEqual(binary, text);
  assert.deepEqual(await rows('execute', 'SELECT id FROM products WHERE brand=?', ["x' OR '1'='1"]), []);
  const several = await rows('query', 'SELECT id FROM products WHERE id=7; SHOW TABLES; SELECT @@autocommit AS a');
  assert.deepEqual(several.map((result) => result.length), [1, 1, 1]);
  assert.deepEqual(several[2], [{a: '1'}]);
  await refused(rows('query', 'SELECT id FROM nope'), 'ER_NO_SUCH_TABLE');
  await refused(rows('execute', 'SELECT id FROM nope WHERE id=?', [1]), 'ER_NO_SUCH_TABLE');
  await client.ping();
  await client.changeUser({user: 'other', database: 'market'});
  const now = await rows('query', 'SELECT DATABASE() AS d, USER() AS u');
  assert.deepEqual(now, [{d: 'market', u: 'other@127.0.0.1'}]);
  await refused(rows('query', 'selec id FROM products'), 'ER_PARSE_ERROR');
  await client.beginTransaction();
  await client.rollback();
  const other = await mysql.createConnection({host: '127.0.0.1', port, user: 'other', password: 'x'});
  await other.query('KILL ?', [client.threadId]);
  await assert.rejects(rows('query', 'SELECT id FROM products'));
  await other.end();

  const single = await mysql.createConnection({host: '127.0.0.1', port, user: 'any'});
  await refused(single.query('SELECT id FROM products; SHOW TABLES'), 'ER_PARSE_ERROR');
  await single.end();
}

main(Number(process.argv[2])).catch((error) => {
  console.error(error);
  process.exit(1);
});
