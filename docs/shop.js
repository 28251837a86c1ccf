// The data of aggregation.md: a small shop. `mongosh shop docs/shop.js` loads it into the database
// shop.
db.dropDatabase();
db.customers.insertMany([
  { _id: 1, name: 'Ada', city: 'London' },
  { _id: 2, name: 'Grace', city: 'New York' },
  { _id: 3, name: 'Linus', city: 'Helsinki' },
  { _id: 4, name: 'Radia', city: 'Boston' },
]);
db.products.insertMany([
  { _id: 'beans', kind: 'coffee', price: 12.5 },
  { _id: 'filter', kind: 'gear', price: 4 },
  { _id: 'kettle', kind: 'gear', price: 59 },
  { _id: 'mug', kind: 'gear', price: 9 },
  { _id: 'sencha', kind: 'tea', price: 7.5 },
]);
const order = (id, customer, at, status, ...items) => ({
  _id: id, customer, at: ISODate(at), status, items: items.map(([sku, qty]) => ({ sku, qty })),
  total: items.reduce((sum, [sku, qty]) => sum + qty * db.products.findOne({ _id: sku }).price, 0),
});
db.orders.insertMany([
  order(1, 1, '2024-01-05T09:30:00Z', 'shipped', ['beans', 2], ['mug', 1]),
  order(2, 2, '2024-01-05T23:45:00Z', 'shipped', ['kettle', 1]),
  order(3, 1, '2024-01-19T14:00:00Z', 'returned', ['filter', 5]),
  order(4, 3, '2024-02-02T08:15:00Z', 'shipped', ['beans', 4], ['filter', 2]),
  order(5, 2, '2024-02-14T18:20:00Z', 'shipped', ['mug', 2], ['sencha', 3]),
  order(6, 1, '2024-02-29T12:00:00Z', 'shipped', ['beans', 1]),
  order(7, 3, '2024-04-01T07:05:00Z', 'open', ['kettle', 1], ['sencha', 2]),
  order(8, 2, '2024-04-12T16:40:00Z', 'open', ['beans', 3]),
]);
db.staff.insertMany([
  { _id: 'Mona' }, { _id: 'Nils', boss: 'Mona' }, { _id: 'Olga', boss: 'Mona' }, { _id: 'Pavel', boss: 'Nils' }, { _id: 'Quinn', boss: 'Pavel' },
]);
print(`${db.orders.countDocuments()} orders, ${db.customers.countDocuments()} customers, ${db.products.countDocuments()} products`);
