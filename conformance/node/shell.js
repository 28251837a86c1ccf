// What a person does in mongosh: connect, look around, CRUD, indexes, validation. Run by node_test.go.
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
  same(shop.getCollectionNames().sort(), ['items', 'numbers', 'people']);
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
