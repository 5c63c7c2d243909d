// Every call of npm's manticoresearch against karmad: node clients.cjs URL TABLE
'use strict';
const assert = require('node:assert');
const Manticore = require('manticoresearch');
const {check, finish} = require('./client_checks.cjs');

async function main(url, table) {
  Manticore.ApiClient.instance.basePath = url;
  const search = new Manticore.SearchApi();
  const index = new Manticore.IndexApi();
  const utils = new Manticore.UtilsApi();
  const count = async (query) =>
      Number((await search.search({index: table, query, limit: 0})).hits.total);
  const title = (word) => ({match: {title: word}});

  await check('search', async () => {
    const found = await search.search({index: table, query: {match_all: {}}, sort: [{id: 'asc'}], limit: 3});
    assert.deepEqual(found.hits.hits.map((hit) => Number(hit._id)), [1, 2, 3]);
    assert.equal(Number(found.hits.total), 200);
  });
  await check('search with facets and highlight', async () => {
    const request = new Manticore.SearchRequest();
    request.index = table;
    request.fulltext_filter = new Manticore.QueryFilter('lamp');
    request.aggs = [new Manticore.Aggregation('brands', 'brand')];
    const found = await search.search(request);
    assert(Number(found.hits.total) > 0);
    assert(found.aggregations.brands.buckets.length > 0);
  });
  await check('search for vectors', async () => {
    const found = await search.search(
        {index: table, knn: {field: 'embedding', query_vector: [0.5, 0.5, 0.5, 0.5], k: 5}});
    assert.equal(found.hits.hits.length, 5);
  });
  await check('insert', async () => {
    const done = await index.insert({index: table, id: 70001, doc: {title: 'zeppelin one', price: 7}});
    assert.equal(done.created, true);
    await assert.rejects(index.insert({index: table, id: 70001, doc: {title: 'zeppelin'}}));
    assert.equal(await count(title('zeppelin')), 1);
  });
  await check('replace', async () => {
    await index.replace({index: table, id: 70001, doc: {title: 'zeppelin two', price: 8}});
    assert.equal(await count(title('two')), 1);
  });
  await check('update by id and by query', async () => {
    const one = await index.update({index: table, id: 70001, doc: {price: 4321}});
    assert.equal(one.result, 'updated');
    assert.equal(await count({equals: {price: 4321}}), 1);
    const all = await index.update({index: table, query: {range: {id: {lte: 10}}}, doc: {price: 4322}});
    assert.equal(all.updated, 10);
    assert.equal(await count({equals: {price: 4322}}), 10);
  });
  await check('bulk', async () => {
    const lines = [70002, 70003, 70004].map((id) => JSON.stringify({insert: {index: table, id, doc: {title: 'airship'}}}));
    lines.push(JSON.stringify({delete: {index: table, id: 70003}}));
    const done = await index.bulk(lines.join('\n'));
    assert.equal(done.errors, false);
    assert.equal(await count(title('airship')), 2);
  });
  await check('delete by id and by query', async () => {
    const one = await index.callDelete({index: table, id: 70001});
    assert.equal(one.result, 'deleted');
    const all = await index.callDelete({index: table, query: title('airship')});
    assert.equal(all.deleted, 2);
    assert.equal(await count({match_all: {}}), 200);
  });
  await check('percolate', async () => {
    const stored = await fetch(`${url}/pq/${table}/doc/1?refresh=1`,
                               {method: 'PUT', body: '{"query":{"match":{"title":"bag"}}}'});
    assert.equal(stored.status, 200, await stored.text());
    const found = await search.percolate(table, {query: {percolate: {document: {title: 'a bag'}}}});
    assert.equal(found.hits.hits.length, 1);
  });
  await check('sql', async () => {
    const raw = await utils.sql(`SELECT id, title FROM ${table} WHERE id<4 ORDER BY id ASC`);
    assert.deepEqual(raw[0].data.map((row) => Number(row.id)), [1, 2, 3]);
    const hits = await utils.sql(`SELECT id, price FROM ${table} WHERE id<4`, {rawResponse: false});
    assert.equal(Number(hits[0].hits.total), 3);
    assert.equal((await utils.sql('SHOW TABLES', {rawResponse: true}))[0].data.length, 2);
    await assert.rejects(utils.sql('SELECT id FROM nope'));
  });
  await check('sql that changes', async () => {
    await utils.sql(`INSERT INTO ${table} (id, title) VALUES (70005, 'balloon')`);
    await utils.sql(`UPDATE ${table} SET price=99 WHERE id=70005`);
    assert.equal(await count({bool: {must: [title('balloon'), {equals: {price: 99}}]}}), 1);
    await utils.sql(`DELETE FROM ${table} WHERE id=70005`);
    assert.equal(await count({match_all: {}}), 200);
  });
  finish(`manticoresearch on table ${table}`);
}

main(process.argv[2], process.argv[3]);
