// Adds a helper to every database: oplogSeconds returns how many seconds the oplog goes back.
Object.getPrototypeOf(db).oplogSeconds = function () {
  const log = this.getSiblingDB('local').oplog.rs;
  const [first, last] = [1, -1].map((way) => log.find().sort({ $natural: way }).limit(1).next().ts.t);
  return last - first;
};
