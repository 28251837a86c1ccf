// Removes functions that are dangerous on production data from the shell. Start it with
// `mongosh --shell docs/operations/safe.js`, or load this file in ~/.mongoshrc.js.
for (const name of ['drop', 'deleteMany', 'remove', 'renameCollection']) {
  Object.getPrototypeOf(db.collection)[name] = () => {
    throw new Error(`${name} was taken out of this shell`);
  };
}
Object.getPrototypeOf(db).dropDatabase = () => {
  throw new Error('dropDatabase was taken out of this shell');
};
