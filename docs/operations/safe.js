// What a shell on production data had better not have. `mongosh --shell docs/operations/safe.js`, or load it from ~/.mongoshrc.js.
for (const name of ['drop', 'deleteMany', 'remove', 'renameCollection']) {
  Object.getPrototypeOf(db.collection)[name] = () => {
    throw new Error(`${name} was taken out of this shell`);
  };
}
Object.getPrototypeOf(db).dropDatabase = () => {
  throw new Error('dropDatabase was taken out of this shell');
};
