'use strict';
// mysql2: node mysql2.cjs PORT TABLE PID
const assert = require('node:assert');
const mysql = require('mysql2/promise');
const {added, asksWhileAMirrorEnds, check, columns, expected, fails, finish, page, pick, port, table, unknownColumn} =
    require('./checks.cjs');

const options = {host: '127.0.0.1', port, user: 'any', password: 'secret', database: 'shop'};
const pool = mysql.createPool(options);
const rows = async (sql, values) => (await pool.query(sql, values))[0].map((row) => ({...row}));
const prepared = async (sql, values) => (await pool.execute(sql, values))[0].map((row) => ({...row}));

async function main() {
  await check('connect', async () => {
    assert.deepStrictEqual(await rows('SELECT DATABASE() AS name'), [{name: 'shop'}]);
    const connection = await mysql.createConnection(options);
    await connection.ping();
    await connection.changeUser({user: 'other', database: 'market'});
    assert.strictEqual((await connection.query('SELECT DATABASE() AS name'))[0][0].name, 'market');
    await connection.end();
  });
  await check('types', async () => {
    const sql = `SELECT ${columns.join(', ')} FROM ?? WHERE brand = 'Ironwood' ORDER BY id ASC`;
    assert.deepStrictEqual(await rows(sql, [table]), expected);
  });
  await check('pages', async () => {
    for (let number = 0; number < 3; ++number) {
      const sql = `SELECT id, title FROM ${table} WHERE brand = ? ORDER BY id ASC LIMIT ? OFFSET ?`;
      const values = ['Ironwood', 4, 4 * number];
      assert.deepStrictEqual(await rows(sql, values), page(number, ['id', 'title']));
      assert.deepStrictEqual(await prepared(sql, values), page(number, ['id', 'title']));
    }
    const count = await rows(`SELECT COUNT(*) AS count FROM ${table} WHERE brand = 'Ironwood'`);
    assert.deepStrictEqual(count, [{count: expected.length}]);
  });
  await check('prepare', async () => {
    const connection = await mysql.createConnection(options);
    const statement = await connection.prepare(`SELECT ${columns.join(', ')} FROM ${table} WHERE id = ?`);
    for (const row of expected) {
      const id = Number.isSafeInteger(row.id) ? row.id : String(row.id);
      assert.deepStrictEqual((await statement.execute([id]))[0].map((found) => ({...found})), [row]);
    }
    await statement.close();
    await connection.end();
    const sql = `SELECT id FROM ${table} WHERE brand = ? AND rating > ? ORDER BY id ASC LIMIT ?`;
    const wanted = expected.filter((row) => row.rating > 3.1).map((row) => ({id: row.id}));
    assert.deepStrictEqual(await prepared(sql, ['Ironwood', 3.1, 100]), wanted);
    assert.deepStrictEqual(await prepared(`SELECT id FROM ${table} WHERE brand = ?`, ['x\' OR \'1\'=\'1']), []);
  });
  await check('error', async () => {
    await fails(rows(`SELECT nothing FROM ${table}`), ...unknownColumn);
    await fails(rows('SELECT id FROM nosuch'), 1146);
    await fails(prepared('SELECT id FROM nosuch WHERE id = ?', [1]), 1146);
    await fails(rows('SELEC id'), 1064);
    await fails(rows(`SELECT id FROM ${table} LIMIT 1; SHOW TABLES`), 1064);
    assert.deepStrictEqual(await rows(`SELECT id FROM ${table} WHERE id = ${expected[0].id}`), [{id: expected[0].id}]);
  });
  await check('change', async () => {
    const names = Object.keys(added);
    const change = async (sql, values) => (await pool.query(sql, values))[0].affectedRows;
    const selected = () => rows(`SELECT ${names.join(', ')} FROM ${table} WHERE id = ?`, [added.id]);
    assert.strictEqual(await change(`INSERT INTO ${table} (${names.join(', ')}) VALUES (?)`, [Object.values(added)]), 1);
    assert.deepStrictEqual(await selected(), [added]);
    const update = await pool.execute(`UPDATE ${table} SET price = ? WHERE id = ?`, [8, added.id]);
    assert.strictEqual(update[0].affectedRows, 1);
    assert.strictEqual((await selected())[0].price, 8);
    const connection = await pool.getConnection();
    await connection.beginTransaction();
    await connection.query(`DELETE FROM ${table} WHERE id = ?`, [added.id]);
    await connection.commit();
    connection.release();
    assert.deepStrictEqual(await selected(), []);
  });
  await check('mirror', async () => {
    const wanted = expected.map((row) => pick(row, ['id', 'title']));
    const sql = `SELECT id, title FROM ${table} WHERE brand = ? ORDER BY id ASC`;
    await asksWhileAMirrorEnds(async () => assert.deepStrictEqual(await prepared(sql, ['Ironwood']), wanted));
    const connection = await mysql.createConnection(options);
    assert.strictEqual((await connection.query(sql, ['Ironwood']))[0].length, expected.length);
    await connection.end();
  });
  await pool.end();
  finish();
}

main();
