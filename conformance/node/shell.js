// Uses mongosh as a person does: connect, look around, CRUD, indexes, validation, aggregation.
// node_test.go runs it.
const assert = require('assert');

let passed = 0;
function check(name, body) {
  try {
    body();
  } catch (err) {
    print(`FAILED ${name}: ${err.stack || err}`);
    quit(1);
  }
  passed++;
  print(`ok ${name}`);
}
// Documents and arrays of the shell have other prototypes than literals: compare what they say.
function same(got, want) {
  assert.strictEqual(EJSON.stringify(got), EJSON.stringify(want));
}
function failsWith(code, body) {
  let got;
  try {
    body();
  } catch (err) {
    got = err.code ?? err.result?.code ?? err.writeErrors?.[0]?.code;
  }
  assert.strictEqual(got, code);
}

const name = `conformance_shell_${Date.now()}`;
const shop = db.getSiblingDB(name);

check('hello, buildInfo and ping answer', () => {
  assert.strictEqual(db.hello().ok, 1);
  assert.strictEqual(db.hello().isWritablePrimary, true);
  assert.match(db.version(), /^\d+\.\d+\.\d+/);
  assert.strictEqual(db.adminCommand({ ping: 1 }).ok, 1);
});

check('the helpers of replica sets', () => {
  const { setName, me } = db.hello();
  assert.strictEqual(rs.status().set, setName);
  assert.strictEqual(rs.status().members[0].stateStr, 'PRIMARY');
  assert.strictEqual(rs.conf().members[0].host, me);
  assert.strictEqual(rs.isMaster().ismaster, true);
  failsWith(23, () => rs.initiate());
  assert.strictEqual(typeof db.getReplicationInfo().logSizeMB, 'number');
  assert.strictEqual(db.serverStatus().repl.setName, setName);
  assert.strictEqual(db.adminCommand({ getDefaultRWConcern: 1 }).defaultWriteConcern.w, 'majority');
});

check('insertOne and insertMany', () => {
  const one = shop.items.insertOne({ _id: 1, name: 'tea', price: NumberDecimal('2.50'), tags: ['hot', 'leaf'], stock: { here: 3 } });
  assert.strictEqual(one.acknowledged, true);
  const many = shop.items.insertMany([
    { _id: 2, name: 'coffee', price: NumberDecimal('3.10'), tags: ['hot'], stock: { here: 0 } },
    { _id: 3, name: 'water', price: NumberInt(1), tags: [], stock: { here: 100 }, since: new Date(0) },
    { _id: 4, name: 'juice', price: 2.75, tags: ['cold', 'fruit'], stock: { here: 7 }, code: NumberLong('9007199254740993') },
  ]);
  assert.strictEqual(Object.keys(many.insertedIds).length, 4 - 1);
});

check('a duplicate _id is refused', () => failsWith(11000, () => shop.items.insertOne({ _id: 1 })));

check('find with filter, projection, sort, skip and limit', () => {
  same(shop.items.find({ tags: 'hot' }, { name: 1 }).sort({ name: 1 }).toArray(), [
    { _id: 2, name: 'coffee' },
    { _id: 1, name: 'tea' },
  ]);
  assert.strictEqual(shop.items.countDocuments({ price: { $gte: 2.5, $lt: 3 } }), 2);
  same(shop.items.find({}, { _id: 1 }).sort({ _id: -1 }).skip(1).limit(2).toArray(), [{ _id: 3 }, { _id: 2 }]);
  assert.strictEqual(shop.items.findOne({ 'stock.here': { $gt: 50 } }).name, 'water');
  assert.strictEqual(shop.items.findOne({ name: /^JUI/i })._id, 4);
});

check('numbers keep their types', () => {
  assert.strictEqual(shop.items.findOne({ _id: 4 }).code.toString(), '9007199254740993');
  assert.strictEqual(shop.items.findOne({ _id: 1 }).price.toString(), '2.50');
});

check('batches are fetched by getMore', () => {
  shop.numbers.insertMany(Array.from({ length: 1000 }, (_, i) => ({ _id: i })));
  assert.strictEqual(shop.numbers.find().batchSize(7).toArray().length, 1000);
});

check('updateOne, updateMany, replaceOne, upsert', () => {
  assert.strictEqual(shop.items.updateOne({ _id: 1 }, { $inc: { 'stock.here': -1 }, $push: { tags: 'green' } }).modifiedCount, 1);
  same(shop.items.findOne({ _id: 1 }).tags, ['hot', 'leaf', 'green']);
  assert.strictEqual(shop.items.updateMany({}, { $set: { seen: true } }).modifiedCount, 4);
  assert.strictEqual(shop.items.updateMany({}, { $set: { seen: true } }).modifiedCount, 0);
  assert.strictEqual(shop.items.replaceOne({ _id: 3 }, { name: 'soda' }).modifiedCount, 1);
  assert.strictEqual(shop.items.updateOne({ _id: 9 }, { $set: { name: 'milk' } }, { upsert: true }).upsertedCount, 1);
  assert.strictEqual(shop.items.updateOne({ tags: 'hot' }, { $set: { 'tags.$': 'warm' } }).modifiedCount, 1);
});

check('findOneAndUpdate and findOneAndDelete', () => {
  assert.strictEqual(shop.items.findOneAndUpdate({ _id: 2 }, { $inc: { n: 1 } }, { returnDocument: 'after', upsert: true }).n, 1);
  assert.strictEqual(shop.items.findOneAndDelete({ _id: 9 }).name, 'milk');
  assert.strictEqual(shop.items.findOne({ _id: 9 }), null);
});

check('bulkWrite', () => {
  const result = shop.items.bulkWrite([
    { insertOne: { document: { _id: 20 } } },
    { updateOne: { filter: { _id: 20 }, update: { $set: { a: 1 } } } },
    { deleteOne: { filter: { _id: 20 } } },
  ]);
  same([result.insertedCount, result.modifiedCount, result.deletedCount], [1, 1, 1]);
});

check('deleteMany, countDocuments and distinct', () => {
  same(shop.items.distinct('tags').sort(), ['cold', 'fruit', 'green', 'hot', 'leaf', 'warm']);
  assert.strictEqual(shop.numbers.deleteMany({ _id: { $gte: 10 } }).deletedCount, 990);
  assert.strictEqual(shop.numbers.estimatedDocumentCount(), 10);
});

// Aggregation: a few sales, in whole numbers so that sums are exact.
shop.sales.insertMany(Array.from({ length: 500 }, (_, i) => ({ _id: i, item: 1 + (i % 4), qty: i % 7, at: ISODate(`2024-0${1 + (i % 3)}-15`) })));

check('aggregate: $match, $group, $sort', () => {
  const by = shop.sales.aggregate([
    { $match: { _id: { $lt: 8 } } },
    { $group: { _id: '$item', n: { $sum: 1 }, qty: { $sum: '$qty' } } },
    { $sort: { _id: 1 } },
  ]).toArray();
  same(by, [{ _id: 1, n: 2, qty: 4 }, { _id: 2, n: 2, qty: 6 }, { _id: 3, n: 2, qty: 8 }, { _id: 4, n: 2, qty: 3 }]);
});

check('aggregate: $lookup and $unwind join', () => {
  const joined = shop.sales.aggregate([
    { $match: { _id: { $in: [0, 3] } } },
    { $lookup: { from: 'items', localField: 'item', foreignField: '_id', as: 'item' } },
    { $unwind: '$item' },
    { $project: { name: '$item.name' } },
    { $sort: { _id: 1 } },
  ]).toArray();
  same(joined, [{ _id: 0, name: 'tea' }, { _id: 3, name: 'juice' }]);
});

check('aggregate: a cursor over several batches, counted and iterated', () => {
  const cursor = shop.sales.aggregate([{ $match: { qty: { $gte: 0 } } }, { $set: { double: { $multiply: ['$qty', 2] } } }], { cursor: { batchSize: 33 } });
  let n = 0;
  let sum = 0;
  while (cursor.hasNext()) {
    sum += cursor.next().double;
    n++;
  }
  assert.strictEqual(n, 500);
  assert.strictEqual(sum, 2 * shop.sales.aggregate([{ $group: { _id: null, s: { $sum: '$qty' } } }]).next().s);
  assert.strictEqual(cursor.isExhausted(), true);
});

check('aggregate: windows, facets, dates and let', () => {
  const [first, second] = shop.sales.aggregate([
    { $match: { _id: { $lt: 3 } } },
    { $setWindowFields: { sortBy: { _id: 1 }, output: { run: { $sum: '$qty', window: { documents: ['unbounded', 'current'] } } } } },
    { $project: { run: 1 } },
    { $skip: 1 },
  ]).toArray();
  same([first, second], [{ _id: 1, run: 1 }, { _id: 2, run: 3 }]);
  const facet = shop.sales.aggregate([{ $facet: {
    months: [{ $group: { _id: { $dateToString: { date: '$at', format: '%Y-%m' } }, n: { $count: {} } } }, { $sort: { _id: 1 } }],
    large: [{ $match: { $expr: { $gt: ['$qty', '$$least'] } } }, { $count: 'n' }],
  } }], { let: { least: 5 } }).next();
  same(facet, { months: [{ _id: '2024-01', n: 167 }, { _id: '2024-02', n: 167 }, { _id: '2024-03', n: 166 }], large: [{ n: 71 }] });
});

check('$merge and $out write', () => {
  const totals = [{ $group: { _id: '$item', qty: { $sum: '$qty' } } }];
  same(shop.sales.aggregate([...totals, { $out: 'totals' }]).toArray(), []);
  assert.strictEqual(shop.totals.countDocuments(), 4);
  shop.sales.aggregate([...totals, { $set: { again: true } }, { $merge: { into: 'totals', whenMatched: 'merge' } }]);
  assert.strictEqual(shop.totals.countDocuments({ again: true, qty: { $gt: 0 } }), 4);
  failsWith(11000, () => shop.sales.aggregate([...totals, { $merge: { into: 'totals', whenMatched: 'fail' } }]).toArray());
});

check('views are created, read and refuse writes', () => {
  shop.createView('teas', 'sales', [{ $match: { item: 1 } }, { $project: { qty: 1 } }]);
  assert.strictEqual(shop.teas.countDocuments(), 125);
  same(shop.teas.find({ _id: { $lt: 6 } }).sort({ _id: -1 }).toArray(), [{ _id: 4, qty: 4 }, { _id: 0, qty: 0 }]);
  same(shop.teas.distinct('qty').sort(), [0, 1, 2, 3, 4, 5, 6]);
  failsWith(166, () => shop.teas.insertOne({}));
  assert.strictEqual(shop.getCollectionInfos({ name: 'teas' })[0].type, 'view');
  shop.teas.drop();
});

check('updates with a pipeline', () => {
  const result = shop.sales.updateMany({ _id: { $lt: 2 } }, [{ $set: { label: { $concat: ['#', { $toString: '$_id' }] } } }, { $unset: 'at' }]);
  assert.strictEqual(result.modifiedCount, 2);
  same(shop.sales.findOne({ _id: 1 }), { _id: 1, item: 2, qty: 1, label: '#1' });
});

check('mapReduce, inline and into a collection', () => {
  const map = function () { emit(this.item, this.qty); };
  const reduce = function (key, values) { return Array.sum(values); };
  const inline = shop.sales.mapReduce(map, reduce, { out: { inline: 1 }, query: { _id: { $lt: 8 } } });
  same(inline.results.sort((a, b) => a._id - b._id), [{ _id: 1, value: 4 }, { _id: 2, value: 6 }, { _id: 3, value: 8 }, { _id: 4, value: 3 }]);
  shop.sales.mapReduce(map, reduce, { out: { replace: 'reduced' }, query: { _id: { $lt: 8 } }, finalize: (key, value) => value * key });
  same(shop.reduced.find().sort({ _id: 1 }).toArray().map((d) => d.value), [4, 12, 24, 12]);
});

check('explain shows the query, the stages and what they returned', () => {
  shop.sales.createIndex({ item: 1 });
  const pipeline = [{ $group: { _id: '$item', n: { $sum: '$qty' } } }, { $match: { _id: 2 } }];
  const plan = shop.sales.explain().aggregate([{ $match: { item: 2 } }, ...pipeline]);
  assert.match(EJSON.stringify(plan.stages[0].$cursor.queryPlanner.winningPlan), /IXSCAN/);
  assert.ok(plan.stages.some((s) => s.$group));
  const run = shop.sales.explain('executionStats').aggregate(pipeline);
  assert.strictEqual(Number(run.stages.at(-1).nReturned), 1);
  assert.strictEqual(EJSON.stringify(shop.sales.aggregate(pipeline).explain().command.pipeline), EJSON.stringify(pipeline));
  // A pipeline that writes is explained, and not run.
  assert.strictEqual(shop.sales.explain().aggregate([{ $out: 'never' }]).ok, 1);
  assert.ok(!shop.getCollectionNames().includes('never'));
});

check('a pipeline that is wrong is refused with MongoDB\'s codes', () => {
  failsWith(40324, () => shop.sales.aggregate([{ $nope: 1 }]).toArray());
  failsWith(31325, () => shop.sales.aggregate([{ $project: { a: { $nope: 1 } } }]).toArray());
  failsWith(2, () => shop.sales.aggregate([{ $project: { a: { $divide: ['$qty', 0] } } }]).toArray());
});

for (const c of ['sales', 'totals', 'reduced']) shop[c].drop();

check('indexes: create, list, use, drop', () => {
  shop.items.createIndex({ name: 1 }, { unique: true });
  shop.items.createIndex({ 'stock.here': -1, name: 1 }, { name: 'stock' });
  same(shop.items.getIndexes().map((i) => i.name), ['_id_', 'name_1', 'stock']);
  failsWith(11000, () => shop.items.insertOne({ name: 'coffee' }));
  const plan = shop.items.find({ name: 'coffee' }).explain().queryPlanner.winningPlan;
  assert.match(EJSON.stringify(plan), /IXSCAN|EXPRESS_IXSCAN/);
  shop.items.dropIndex('stock');
  assert.strictEqual(shop.items.getIndexes().length, 2);
});

check('schema validation', () => {
  shop.createCollection('people', {
    validator: { $jsonSchema: { bsonType: 'object', required: ['name'], properties: { name: { bsonType: 'string' }, age: { minimum: 0 } } } },
  });
  shop.people.insertOne({ name: 'Ada', age: 36 });
  failsWith(121, () => shop.people.insertOne({ age: 1 }));
  failsWith(121, () => shop.people.updateOne({ name: 'Ada' }, { $set: { age: -1 } }));
});

check('collections and databases are listed', () => {
  same(shop.getCollectionNames().sort(), ['items', 'numbers', 'people', 'system.views']);
  assert.ok(db.getMongo().getDBNames().includes(name));
  assert.strictEqual(shop.numbers.renameCollection('digits').ok, 1);
  assert.strictEqual(shop.digits.drop(), true);
  assert.ok(shop.stats().collections >= 2);
});

check('errors carry codes', () => {
  failsWith(2, () => shop.items.find({ a: { $unknown: 1 } }).toArray());
  failsWith(59, () => shop.runCommand({ noSuchCommand: 1 }));
  failsWith(9, () => shop.items.updateOne({}, { $nope: { a: 1 } }));
});

check('the database is dropped', () => {
  assert.strictEqual(shop.dropDatabase().ok, 1);
  assert.ok(!db.getMongo().getDBNames().includes(name));
});

print(`${passed} checks passed`);
