// Every call of npm's manticoresearch-ts against karmad: node clients_ts.cjs URL TABLE
'use strict';
const assert = require('node:assert');
const Manticore = require('manticoresearch-ts');
const {check, finish} = require('./client_checks.cjs');

async function main(url, table) {
  const config = Manticore.createConfiguration({baseServer: new Manticore.ServerConfiguration(url, {})});
  const search = new Manticore.SearchApi(config);
  const index = new Manticore.IndexApi(config);
  const utils = new Manticore.UtilsApi(config);
  const count = async (query) => Number((await search.search({table, query, limit: 0})).hits.total);
  const title = (word) => ({match: {title: word}});

  await check('search', async () => {
    const found = await search.search({table, query: {match_all: {}}, sort: [{id: 'asc'}], limit: 3});
    assert.deepEqual(found.hits.hits.map((hit) => Number(hit._id)), [1, 2, 3]);
    const pages = await search.search({table, sort: [{id: 'asc'}], limit: 2, options: {scroll: true}});
    assert.equal(typeof pages.scroll, 'string');
    const next = await search.search({table, limit: 2, options: {scroll: pages.scroll}});
    assert.deepEqual(next.hits.hits.map((hit) => Number(hit._id)), [3, 4]);
    const near = await search.search({table, knn: {field: 'embedding', query_vector: [0.5, 0.5, 0.5, 0.5], k: 5}});
    assert.equal(near.hits.hits.length, 5);
  });
  await check('autocomplete', async () => {
    const found = await search.autocomplete({table, query: 'lam'});
    assert(found[0].data.some((row) => row.query === 'lamp'));
  });
  await check('percolate', async () => {
    const found = await search.percolate(table, {query: {percolate: {documents: [{title: 'x'}, {title: 'a bag'}]}}});
    assert.equal(found.hits.hits.length, 1);
  });
  await check('insert', async () => {
    const done = await index.insert({table, id: 80001, doc: {title: 'zeppelin one', price: 7}});
    assert.equal(done.created, true);
    await assert.rejects(index.insert({table, id: 80001, doc: {title: 'zeppelin'}}));
  });
  await check('replace', async () => {
    await index.replace({table, id: 80001, doc: {title: 'zeppelin two', price: 8}});
    assert.equal(await count(title('two')), 1);
  });
  await check('partialReplace', async () => {
    const done = await index.partialReplace(table, 80001, {doc: {title: 'zeppelin three'}});
    assert.equal(done.updated, 1);
    assert.equal(await count({bool: {must: [title('three'), {equals: {price: 8}}]}}), 1);
  });
  await check('update', async () => {
    const one = await index.update({table, id: 80001, doc: {price: 4321}});
    assert.equal(one.result, 'updated');
    assert.equal(await count({equals: {price: 4321}}), 1);
    const all = await index.update({table, query: {range: {id: {lte: 10}}}, doc: {price: 4323}});
    assert.equal(all.updated, 10);
  });
  await check('bulk', async () => {
    const lines = [80002, 80003].map((id) => JSON.stringify({replace: {table, id, doc: {title: 'airship'}}}));
    const done = await index.bulk(lines.join('\n'));
    assert.equal(done.errors, false);
    assert.equal(await count(title('airship')), 2);
  });
  await check('delete', async () => {
    const one = await index.delete({table, id: 80001});
    assert.equal(one.result, 'deleted');
    const all = await index.delete({table, query: title('airship')});
    assert.equal(all.deleted, 2);
    assert.equal(await count({match_all: {}}), 200);
  });
  await check('sql', async () => {
    const raw = await utils.sql(`SELECT id, title FROM ${table} WHERE id<4 ORDER BY id ASC`);
    assert.deepEqual(raw[0].data.map((row) => Number(row.id)), [1, 2, 3]);
    const hits = await utils.sql(`SELECT id, price FROM ${table} WHERE id<4`, false);
    assert.equal(Number(hits.hits.total), 3);
    await assert.rejects(utils.sql('SELECT id FROM nope'));
  });
  finish(`manticoresearch-ts on table ${table}`);
}

main(process.argv[2], process.argv[3]);
