'use strict';
// Sequelize: node sequelize.cjs PORT TABLE PID
const assert = require('node:assert');
const {DataTypes, Op, Sequelize, col, fn} = require('sequelize');
const {added, asksWhileAMirrorEnds, check, columns, expected, fails, finish, page, pick, port, table, unknownColumn} =
    require('./checks.cjs');

const sequelize = new Sequelize('shop', 'any', 'secret', {dialect: 'mysql', host: '127.0.0.1', port, logging: false});
const model = {
  id: {type: DataTypes.BIGINT, primaryKey: true},
  title: DataTypes.TEXT,
  price: DataTypes.INTEGER.UNSIGNED,
  rating: DataTypes.FLOAT,
  brand: DataTypes.STRING,
  tags: DataTypes.TEXT,
  meta: DataTypes.TEXT,
  ts: DataTypes.INTEGER.UNSIGNED,
  stock: DataTypes.BIGINT,
};
const Product = sequelize.define('Product', model, {tableName: table, timestamps: false});
const Nothing = sequelize.define('Nothing', {id: model.id}, {tableName: 'nosuch', timestamps: false});
const ofBrand = {where: {brand: 'Ironwood'}, order: [['id', 'ASC']]};

// Numbers beyond 2^53 are texts here.
const plain = (row, names = columns) => {
  const found = pick(row.get({plain: true}), names);
  for (const name of ['id', 'stock'])
    if (typeof found[name] === 'string') found[name] = Number(found[name]);
  return found;
};

async function main() {
  await check('connect', () => sequelize.authenticate());
  await check('types', async () => {
    assert.deepStrictEqual((await Product.findAll(ofBrand)).map((row) => plain(row)), expected);
  });
  await check('pages', async () => {
    for (let number = 0; number < 3; ++number) {
      const {count, rows} = await Product.findAndCountAll(
          {...ofBrand, attributes: ['id', 'title'], limit: 4, offset: 4 * number});
      assert.strictEqual(count, expected.length);
      assert.deepStrictEqual(rows.map((row) => plain(row, ['id', 'title'])), page(number, ['id', 'title']));
    }
  });
  await check('groups', async () => {
    const groups = await Product.findAll({
      attributes: ['brand', [fn('COUNT', col('id')), 'howMany']], group: ['brand'], order: [['brand', 'ASC']], raw: true});
    assert.strictEqual(groups.length, 12);
    assert.strictEqual(groups.find((row) => row.brand === 'Ironwood').howMany, expected.length);
    assert.strictEqual(await Product.max('price', ofBrand), Math.max(...expected.map((row) => row.price)));
  });
  await check('prepare', async () => {
    for (const row of expected.slice(0, 8)) assert.deepStrictEqual(plain(await Product.findByPk(row.id)), row);
    const wanted = expected.filter((row) => row.rating > 3.1).map((row) => row.title);
    const [rows] = await sequelize.query(
        `SELECT title FROM ${table} WHERE brand = $1 AND rating > $2 ORDER BY id ASC`, {bind: ['Ironwood', 3.1]});
    assert.deepStrictEqual(rows.map((row) => row.title), wanted);
    assert.strictEqual(await Product.findOne({where: {brand: 'x\' OR \'1\'=\'1'}}), null);
  });
  await check('error', async () => {
    await fails(sequelize.query(`SELECT nothing FROM ${table}`), ...unknownColumn);
    await fails(Nothing.findAll(), 1146);
    assert.strictEqual((await Product.findByPk(expected[0].id)).title, expected[0].title);
  });
  await check('tables', async () => {
    const found = await sequelize.getQueryInterface().describeTable(table);
    assert.match(found.id.type, /^BIGINT/);
    assert.strictEqual(found.rating.type, 'FLOAT');
    assert.ok((await sequelize.getQueryInterface().showAllTables()).includes(table));
  });
  await check('change', async () => {
    const product = await sequelize.transaction((transaction) => Product.create(added, {transaction}));
    const names = Object.keys(added);
    assert.deepStrictEqual(plain(await Product.findByPk(added.id), names), added);
    assert.deepStrictEqual(await Product.update({price: 8}, {where: {id: added.id}}), [1]);
    await product.update({price: 9});
    assert.strictEqual((await product.reload()).price, 9);
    await product.destroy();
    assert.strictEqual(await Product.findByPk(added.id), null);
  });
  await check('mirror', async () => {
    await asksWhileAMirrorEnds(async () =>
      assert.deepStrictEqual((await Product.findAll(ofBrand)).map((row) => plain(row)), expected));
  });
  await sequelize.close();
  finish();
}

main();
