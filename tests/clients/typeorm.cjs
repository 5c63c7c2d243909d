'use strict';
// TypeORM: node typeorm.cjs PORT TABLE PID
const assert = require('node:assert');
const {DataSource, EntitySchema, MoreThan} = require('typeorm');
const {added, asksWhileAMirrorEnds, check, columns, expected, fails, finish, page, pick, port, table, unknownColumn} =
    require('./checks.cjs');

const id = {type: 'bigint', primary: true};
const Product = new EntitySchema({
  name: 'Product',
  tableName: table,
  columns: {
    id,
    title: {type: 'text'},
    price: {type: 'int', unsigned: true},
    rating: {type: 'float'},
    brand: {type: 'text'},
    tags: {type: 'text', nullable: true},
    meta: {type: 'text', nullable: true},
    ts: {type: 'int', unsigned: true, nullable: true},
    stock: {type: 'bigint'},
  },
});
const Nothing = new EntitySchema({name: 'Nothing', tableName: 'nosuch', columns: {id}});
const source = new DataSource({
  type: 'mysql', host: '127.0.0.1', port, username: 'any', password: 'secret', database: 'shop',
  entities: [Product, Nothing],
});
const products = () => source.getRepository('Product');
const ofBrand = {where: {brand: 'Ironwood'}, order: {id: 'ASC'}};

// bigint is a text here.
const plain = (row, names = columns) => {
  const found = pick(row, names);
  for (const name of ['id', 'stock'])
    if (typeof found[name] === 'string') found[name] = Number(found[name]);
  return found;
};

async function main() {
  await check('connect', () => source.initialize());
  await check('types', async () => {
    assert.deepStrictEqual((await products().find(ofBrand)).map((row) => plain(row)), expected);
  });
  await check('pages', async () => {
    for (let number = 0; number < 3; ++number) {
      const [rows, count] = await products().findAndCount({...ofBrand, skip: 4 * number, take: 4});
      assert.strictEqual(count, expected.length);
      assert.deepStrictEqual(rows.map((row) => plain(row, ['id', 'title'])), page(number, ['id', 'title']));
    }
  });
  await check('groups', async () => {
    const groups = await products().createQueryBuilder('p').select('p.brand', 'brand').addSelect('COUNT(p.id)', 'howMany')
        .groupBy('p.brand').orderBy('p.brand', 'ASC').getRawMany();
    assert.strictEqual(groups.length, 12);
    assert.strictEqual(Number(groups.find((row) => row.brand === 'Ironwood').howMany), expected.length);
    assert.strictEqual(await products().maximum('price', {brand: 'Ironwood'}), Math.max(...expected.map((row) => row.price)));
  });
  await check('prepare', async () => {
    for (const row of expected.slice(0, 8)) assert.deepStrictEqual(plain(await products().findOneBy({id: row.id})), row);
    const wanted = expected.filter((row) => row.rating > 3.1).map((row) => row.title);
    const where = {brand: 'Ironwood', rating: MoreThan(3.1)};
    assert.deepStrictEqual((await products().find({...ofBrand, where})).map((row) => row.title), wanted);
    const built = products().createQueryBuilder('p').select(['p.id', 'p.title']).where('p.brand = :brand', {brand: 'Ironwood'})
        .andWhere('p.rating > :least', {least: 3.1}).orderBy('p.id', 'ASC').limit(100);
    assert.deepStrictEqual((await built.getMany()).map((row) => row.title), wanted);
    assert.strictEqual(await products().findOneBy({brand: 'x\' OR \'1\'=\'1'}), null);
  });
  await check('texts', async () => {  // a bigint is a text, also in the statement
    const row = await products().findOneBy({id: '9007199254741088'});
    assert.strictEqual(row && row.title, 'Light chair');
  });
  await check('error', async () => {
    await fails(source.query(`SELECT nothing FROM ${table}`), ...unknownColumn);
    await fails(source.getRepository('Nothing').find(), 1146);
    assert.strictEqual((await products().findOneBy({id: expected[0].id})).title, expected[0].title);
  });
  await check('tables', async () => {
    const runner = source.createQueryRunner();
    assert.strictEqual(await runner.hasTable(table), true);
    assert.strictEqual(await runner.hasTable('nosuch'), false);
    assert.strictEqual(await runner.hasColumn(table, 'rating'), true);
    await runner.release();
  });
  await check('change', async () => {
    const names = Object.keys(added);
    await products().insert(added);  // with DEFAULT for the columns that it has no value for
    assert.deepStrictEqual(plain(await products().findOneBy({id: added.id}), names), added);
    assert.strictEqual((await products().update({id: added.id}, {price: 8})).affected, 1);
    const product = await products().findOneBy({id: added.id});
    assert.strictEqual(product.price, 8);
    await products().delete({id: added.id});
    assert.strictEqual(await products().findOneBy({id: added.id}), null);
    await products().save({...added, id: String(added.id)});  // looks for id IN ('5001') first
    assert.strictEqual((await products().findOneBy({id: added.id})).title, added.title);
    await products().delete({id: added.id});
  });
  await check('mirror', async () => {
    await asksWhileAMirrorEnds(async () =>
      assert.deepStrictEqual((await products().find(ofBrand)).map((row) => plain(row)), expected));
  });
  if (source.isInitialized) await source.destroy();
  finish();
}

main();
