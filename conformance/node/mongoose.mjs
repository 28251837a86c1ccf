// Uses Mongoose as an application does: schemas, validation, indexes, populate, middleware,
// aggregation. node_test.go runs it.
import assert from 'node:assert';
import mongoose from 'mongoose';

const { Schema } = mongoose;
let passed = 0;
async function check(name, body) {
  try {
    await body();
  } catch (err) {
    console.log(`FAILED ${name}: ${err.stack}`);
    process.exit(1);
  }
  passed++;
  console.log(`ok ${name}`);
}

const authorSchema = new Schema({ name: { type: String, required: true }, born: Date }, { timestamps: true });
const bookSchema = new Schema({
  title: { type: String, required: true, trim: true },
  isbn: { type: String, unique: true, sparse: true },
  pages: { type: Number, min: 1 },
  price: Schema.Types.Decimal128,
  tags: [String],
  author: { type: Schema.Types.ObjectId, ref: 'Author', index: true },
  reviews: [{ by: { type: Schema.Types.ObjectId, ref: 'Author' }, stars: Number }],
  meta: { type: Map, of: String },
});
bookSchema.index({ title: 1, pages: -1 });
bookSchema.pre('save', function () {
  this.tags = this.tags.map((t) => t.toLowerCase());
});

const dbName = `conformance_mongoose_${Date.now()}`;
await mongoose.connect(process.env.SHEAF_URI, { dbName, autoIndex: false });
const Author = mongoose.model('Author', authorSchema);
const Book = mongoose.model('Book', bookSchema);
let ursula, terry;

await check('indexes are made and synchronised', async () => {
  await Book.init();
  await Book.createIndexes();
  const names = Object.keys(await Book.collection.indexInformation()).sort();
  assert.deepStrictEqual(names, ['_id_', 'author_1', 'isbn_1', 'title_1_pages_-1']);
  await Book.collection.createIndex({ stray: 1 });
  assert.deepStrictEqual(await Book.syncIndexes(), ['stray_1']);
});

await check('documents are created and read back with their types', async () => {
  [ursula, terry] = await Author.create([{ name: 'Ursula', born: new Date('1929-10-21') }, { name: 'Terry' }]);
  const book = await Book.create({
    title: '  The Dispossessed ', isbn: '1', pages: 341, price: '12.50', tags: ['SF', 'Classic'], author: ursula,
    reviews: [{ by: terry, stars: 5 }], meta: { shelf: 'A1' },
  });
  const found = await Book.findById(book.id);
  assert.strictEqual(found.title, 'The Dispossessed');
  assert.strictEqual(found.price.toString(), '12.50');
  assert.deepStrictEqual([...found.tags], ['sf', 'classic']);
  assert.strictEqual(found.meta.get('shelf'), 'A1');
});

await check('schema validation refuses on the client', async () => {
  await assert.rejects(Book.create({ pages: 0 }), (err) => Boolean(err.errors.title && err.errors.pages));
});

await check('a unique index refuses on the server', async () => {
  await assert.rejects(Book.create({ title: 'Copy', isbn: '1' }), { code: 11000 });
});

await check('queries: filter, sort, limit, select, lean', async () => {
  await Book.insertMany([
    { title: 'Mort', isbn: '2', pages: 272, author: terry, tags: ['fantasy'] },
    { title: 'Guards', isbn: '3', pages: 288, author: terry, tags: ['fantasy', 'city'] },
    { title: 'Lathe', isbn: '4', pages: 184, author: ursula },
  ]);
  const long = await Book.find({ pages: { $gt: 200 } }).sort('-pages').limit(2).select('title -_id').lean();
  assert.deepStrictEqual(long, [{ title: 'The Dispossessed' }, { title: 'Guards' }]);
  assert.strictEqual(await Book.countDocuments({ tags: { $in: ['city', 'sf'] } }), 2);
  assert.deepStrictEqual((await Book.distinct('tags')).sort(), ['city', 'classic', 'fantasy', 'sf']);
  assert.ok(await Book.exists({ title: /^mor/i }));
});

await check('populate follows references, also in arrays', async () => {
  const book = await Book.findOne({ isbn: '1' }).populate('author', 'name').populate('reviews.by');
  assert.strictEqual(book.author.name, 'Ursula');
  assert.strictEqual(book.reviews[0].by.name, 'Terry');
});

await check('updates: save of changes, update operators, array filters', async () => {
  const book = await Book.findOne({ isbn: '2' });
  book.pages = 300;
  book.tags.push('DEATH');
  await book.save();
  assert.deepStrictEqual([...(await Book.findOne({ isbn: '2' })).tags], ['fantasy', 'death']);
  const result = await Book.updateMany({ author: terry }, { $inc: { pages: 1 }, $addToSet: { tags: 'discworld' } });
  assert.strictEqual(result.modifiedCount, 2);
  const reviewed = await Book.findOneAndUpdate(
    { isbn: '1' }, { $set: { 'reviews.$[r].stars': 4 } }, { arrayFilters: [{ 'r.stars': 5 }], returnDocument: 'after' });
  assert.strictEqual(reviewed.reviews[0].stars, 4);
});

await check('aggregate: group, lookup, and the models\' own options', async () => {
  const byAuthor = await Book.aggregate()
    .match({ author: { $exists: true } })
    .group({ _id: '$author', books: { $sum: 1 }, pages: { $sum: '$pages' } })
    .lookup({ from: Author.collection.name, localField: '_id', foreignField: '_id', as: 'author' })
    .unwind('$author')
    .sort({ books: -1, 'author.name': 1 })
    .project({ _id: 0, name: '$author.name', books: 1, pages: 1 });
  assert.deepStrictEqual(byAuthor, [{ books: 2, pages: 590, name: 'Terry' }, { books: 2, pages: 525, name: 'Ursula' }]);
  const [facet] = await Book.aggregate().facet({ tags: [{ $unwind: '$tags' }, { $sortByCount: '$tags' }, { $limit: 1 }], n: [{ $count: 'n' }] }).allowDiskUse(true);
  assert.strictEqual(facet.n[0].n, 4);
  assert.strictEqual(facet.tags[0].count, 2);
});

await check('aggregate: a cursor streams over several batches', async () => {
  let n = 0;
  for await (const doc of Book.aggregate([{ $unwind: { path: '$tags', preserveNullAndEmptyArrays: true } }]).cursor({ batchSize: 1 })) n += doc.title ? 1 : 0;
  assert.strictEqual(n, await Book.aggregate([{ $project: { n: { $max: [1, { $size: '$tags' }] } } }, { $group: { _id: null, n: { $sum: '$n' } } }]).then((r) => r[0].n));
});

await check('aggregate explains itself', async () => {
  const plan = await Book.aggregate([{ $match: { author: terry._id } }, { $sort: { title: 1 } }]).explain();
  assert.match(JSON.stringify(plan), /"indexName":"author_1"/);
});

await check('populate on what a pipeline gave', async () => {
  const latest = await Book.aggregate([{ $sort: { pages: -1 } }, { $limit: 1 }, { $project: { title: 1, author: 1 } }]);
  const [book] = await Author.populate(latest, { path: 'author', select: 'name', model: Author });
  assert.strictEqual(book.author.name, 'Ursula');
});

await check('virtual populate and a model over a view', async () => {
  await mongoose.connection.createCollection('longBooks', { viewOn: Book.collection.name, pipeline: [{ $match: { pages: { $gt: 280 } } }, { $project: { title: 1, pages: 1 } }] });
  const Long = mongoose.model('Long', new Schema({ title: String, pages: Number }, { autoCreate: false, autoIndex: false }), 'longBooks');
  assert.deepStrictEqual((await Long.find().sort('title').lean()).map((b) => b.title), ['Guards', 'Mort', 'The Dispossessed']);
  assert.strictEqual(await Long.countDocuments({ pages: { $lt: 300 } }), 1);
});

await check('updates with a pipeline', async () => {
  const result = await Book.updateMany({ author: terry }, [{ $set: { title: { $toUpper: '$title' } } }], { updatePipeline: true });
  assert.strictEqual(result.modifiedCount, 2);
  const back = await Book.findOneAndUpdate({ isbn: '2' }, [{ $set: { title: 'Mort' } }], { updatePipeline: true, returnDocument: 'after' });
  assert.strictEqual(back.title, 'Mort');
});

await check('upsert and versioning', async () => {
  const made = await Author.findOneAndUpdate({ name: 'Neil' }, { $setOnInsert: { born: new Date(0) } }, { upsert: true, returnDocument: 'after' });
  assert.strictEqual(made.born.getTime(), 0);
  const a = await Book.findOne({ isbn: '3' });
  const b = await Book.findOne({ isbn: '3' });
  a.tags = ['x'];
  await a.save();
  b.tags = ['y'];
  await assert.rejects(b.save(), { name: 'VersionError' });
});

await check('cursors stream', async () => {
  let n = 0;
  for await (const doc of Book.find().batchSize(2).cursor()) n += doc.title ? 1 : 0;
  assert.strictEqual(n, 4);
});

await check('bulkWrite and deletes', async () => {
  const result = await Book.bulkWrite([
    { insertOne: { document: { title: 'Temp', isbn: '9' } } },
    { updateOne: { filter: { isbn: '9' }, update: { pages: 5 } } },
    { deleteOne: { filter: { isbn: '9' } } },
  ]);
  assert.deepStrictEqual([result.insertedCount, result.modifiedCount, result.deletedCount], [1, 1, 1]);
  assert.strictEqual((await Book.deleteMany({ author: terry })).deletedCount, 2);
});

await check('a validator of the collection refuses with details', async () => {
  await mongoose.connection.createCollection('strict', { validator: { $jsonSchema: { required: ['a'] } } });
  await assert.rejects(mongoose.connection.collection('strict').insertOne({ b: 1 }), (err) => err.code === 121 && err.errInfo.details !== undefined);
});

await mongoose.connection.dropDatabase();
await mongoose.disconnect();
console.log(`${passed} checks passed`);
