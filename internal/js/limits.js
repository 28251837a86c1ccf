// What bounds single calls of the language's own functions. A call of a script is looked at between two instructions only:
// a function that is not written in JavaScript and takes long, takes much memory or recurses deeply must be refused before.
(function (global, natives) {
  'use strict';
  const maxLength = natives.maxLength, { checkChars, checkWide } = natives, maxCall = 1e5, maxKeys = 2e5, maxEntries = 1e5, maxPromises = 1e4, maxFlat = 100, maxCompared = 1 << 19, maxWide = 1 << 22, maxWideText = 1 << 21, maxNormalized = 1 << 20, maxNumber = 1 << 20, maxDate = 1 << 10;
  const apply = Reflect.apply, construct = Reflect.construct, define = Object.defineProperty, str = String, { join } = Array.prototype;
  const range = (what) => { throw new RangeError(what); };
  const isObject = (x) => x !== null && (typeof x === 'object' || typeof x === 'function');
  const lengthOf = (x) => (x === null || x === undefined ? 0 : +x.length || 0);
  // A function that makes a large value checks the memory first.
  const large = natives.large, elementSize = natives.elementSize, entrySize = 8 * elementSize;
  const checkRoom = (n, size) => { if (n > large) natives.room(n * size); };
  const checkList = (x) => {
    const n = lengthOf(x);
    if (n > maxLength) range('Invalid array length');
    checkRoom(n, elementSize);
  };

  // wrap replaces a method; before is called with its arguments and may refuse them, after with its
  // result.
  function wrap(object, name, before, after) {
    const native = object[name];
    if (typeof native !== 'function') return;
    const value = {
      value(...args) {
        before(this, args);
        return after === undefined ? apply(native, this, args) : after(apply(native, this, args));
      },
    }.value;
    define(object, name, { value, writable: true, configurable: true });
  }
  // mask replaces a constructor, which stays the same for instanceof and its static members. instead, where given, makes the objects.
  function mask(name, before, instead) {
    const native = global[name];
    if (typeof native !== 'function') return;
    const masked = function (...args) {
      before(args);
      if (instead !== undefined) return instead(args);
      return new.target === undefined ? apply(native, this, args) : construct(native, args, new.target === masked ? native : new.target);
    };
    Object.setPrototypeOf(masked, Object.getPrototypeOf(native));
    for (const key of Reflect.ownKeys(native)) define(masked, key, Object.getOwnPropertyDescriptor(native, key));
    define(native.prototype, 'constructor', { value: masked, writable: true, configurable: true });
    define(global, name, { value: masked, writable: true, configurable: true });
  }
  const none = () => {};

  // What lists the properties of a value: those of a text are its characters, and of a list its elements.
  const checkKeys = (max) => (_, args) => {
    for (let i = 0; i < args.length; i++) {
      const n = ArrayBuffer.isView(args[i]) ? args[i].length : natives.countKeys(args[i]);
      if (n > max) range('the value has too many properties');
      checkRoom(n, entrySize);
    }
  };
  for (const name of ['keys', 'values', 'assign', 'getOwnPropertyNames', 'getOwnPropertySymbols', 'freeze', 'isFrozen', 'seal', 'isSealed', 'preventExtensions']) wrap(Object, name, checkKeys(maxKeys));
  for (const name of ['entries', 'defineProperties', 'getOwnPropertyDescriptors', 'create', 'groupBy']) wrap(Object, name, checkKeys(maxEntries));
  for (const name of ['ownKeys', 'preventExtensions']) wrap(Reflect, name, checkKeys(maxKeys));

  // The engine's own fails for an entry without a key.
  const fromEntries = {
    fromEntries(list) {
      const object = {};
      for (const entry of list) {
        if (entry === null || (typeof entry !== 'object' && typeof entry !== 'function')) throw new TypeError('Iterator value ' + str(entry) + ' is not an entry object');
        define(object, entry[0], { value: entry[1], writable: true, enumerable: true, configurable: true });
      }
      return object;
    },
  }.fromEntries;
  define(Object, 'fromEntries', { value: fromEntries, writable: true, configurable: true });

  define(Array.prototype, Symbol.iterator, { value: Array.prototype.values, writable: true, configurable: true });
  const checkJoin = (list, args) => {
    checkList(list);
    checkChars(lengthOf(list) * (args[0] === undefined ? 1 : lengthOf(str(args[0]))));
    natives.checkSize(list);
  };
  wrap(Array.prototype, 'join', checkJoin, checkWide);
  wrap(Array.prototype, 'toLocaleString', (list) => checkJoin(list, []), checkWide);
  wrap(Array.prototype, 'concat', (list, args) => {
    let n = lengthOf(list);
    for (let i = 0; i < args.length; i++) n += typeof args[i] === 'string' ? 1 : lengthOf(args[i]);
    if (n > maxLength) range('Invalid array length');
    checkRoom(n, elementSize);
  });
  const flatLength = (list, depth) => {
    checkList(list);
    let n = 0;
    for (let i = 0; i < list.length; i++) {
      n += Array.isArray(list[i]) && depth > 0 ? flatLength(list[i], depth - 1) : 1;
      if (n > maxLength) range('Invalid array length');
    }
    return n;
  };
  wrap(Array.prototype, 'flat', (list, args) => {
    if (args[0] > maxFlat) args[0] = maxFlat;
    flatLength(list, args[0] === undefined ? 1 : args[0]);
  });
  // Lists that are iterated take a microsecond an element.
  const checkIterated = (_, args) => {
    const list = args[0];
    const n = list !== null && typeof list === 'object' && list.size > 0 ? list.size : lengthOf(list);
    if (n > maxKeys) range('Invalid array length');
    checkRoom(n, entrySize);
  };
  wrap(Array, 'from', checkIterated);
  for (const name of ['all', 'allSettled', 'any', 'race']) {
    wrap(Promise, name, (_, args) => { if (lengthOf(args[0]) > maxPromises || (args[0] && args[0].size > maxPromises)) range('Invalid array length'); });
  }
  wrap(Function.prototype, 'apply', (_, args) => { if (lengthOf(args[1]) > maxCall) range('too many arguments'); });
  wrap(Reflect, 'apply', (_, args) => { if (lengthOf(args[2]) > maxCall) range('too many arguments'); });
  wrap(Reflect, 'construct', (_, args) => { if (lengthOf(args[1]) > maxCall) range('too many arguments'); });
  // Bound functions that are bound again and again would recurse outside of the language.
  define(Function.prototype, 'bind', {
    value: function bind(self, ...first) {
      const fn = this;
      const bound = function (...rest) {
        return new.target === undefined ? apply(fn, self, [...first, ...rest]) : construct(fn, [...first, ...rest], new.target === bound ? fn : new.target);
      };
      return bound;
    },
    writable: true, configurable: true,
  });

  const times = (s, args) => checkChars(lengthOf(str(s)) * args[0]);
  wrap(String.prototype, 'repeat', times, checkWide);
  wrap(String.prototype, 'localeCompare', (s, args) => { if (lengthOf(str(s)) + lengthOf(str(args[0])) > maxCompared) range('the texts are too long: compare parts of ' + maxCompared / 2 + ' characters'); });
  wrap(Object.getPrototypeOf(Uint8Array.prototype), 'toLocaleString', (list) => { if (lengthOf(list) > maxKeys) range('Invalid array length'); });
  for (const name of ['toUpperCase', 'toLowerCase', 'toLocaleUpperCase', 'toLocaleLowerCase']) {
    wrap(String.prototype, name, (s) => {
      const text = str(s);
      checkChars(text.length);
      if (text.length > maxWide && natives.isWide(text)) range('the text is too long: change its case in parts of ' + maxWide + ' characters');
    });
  }
  wrap(String.prototype, 'normalize', (s) => { if (lengthOf(str(s)) > maxNormalized) range('the text is too long: normalize it in parts of ' + maxNormalized + ' characters'); });
  wrap(global, 'parseFloat', (_, args) => {
    args[0] = str(args[0]);
    if (args[0].length > maxNumber) range('the text of a number is longer than ' + maxNumber + ' characters');
  });
  define(Number, 'parseFloat', { value: global.parseFloat, writable: true, configurable: true });
  // No date is so long.
  wrap(Date, 'parse', (_, args) => {
    args[0] = str(args[0]);
    if (args[0].length > maxDate) args[0] = 'long';
  });
  const primitive = (x) => {
    const own = x[Symbol.toPrimitive];
    if (own !== undefined && own !== null) return apply(own, x, ['default']);
    const value = x.valueOf();
    return isObject(value) ? str(value) : value;
  };
  mask('Date', (args) => {
    if (args.length !== 1) return;
    if (isObject(args[0]) && !(args[0] instanceof Date)) args[0] = primitive(args[0]);
    if (typeof args[0] === 'string' && args[0].length > maxDate) args[0] = 'long';
  });
  const trims = {
    trim() { return cut(this, 'trim', true, true); },
    trimStart() { return cut(this, 'trimStart', true, false); },
    trimEnd() { return cut(this, 'trimEnd', false, true); },
  };
  const cut = (s, name, begin, end) => {
    if (s === undefined || s === null) throw new TypeError('String.prototype.' + name + ' called on null or undefined');
    return natives.trim(`${s}`, begin, end);
  };
  for (const [name, method] of [['trim', 'trim'], ['trimStart', 'trimStart'], ['trimEnd', 'trimEnd'], ['trimLeft', 'trimStart'], ['trimRight', 'trimEnd']]) {
    define(String.prototype, name, { value: trims[method], writable: true, configurable: true });
  }
  // A character beyond ASCII becomes up to three bytes, each of which is written as %XX.
  for (const name of ['encodeURI', 'encodeURIComponent', 'decodeURI', 'decodeURIComponent', 'escape', 'unescape']) {
    wrap(global, name, (_, args) => {
      const text = (args[0] = str(args[0]));
      checkChars((text.length > large && natives.isWide(text) ? 9 : 3) * text.length);
    });
  }
  const pad = (s, args) => checkChars(args[0]);
  wrap(String.prototype, 'padStart', pad, checkWide);
  wrap(String.prototype, 'padEnd', pad, checkWide);
  wrap(String.prototype, 'concat', (s, args) => checkChars(args.reduce((n, x) => n + lengthOf(str(x)), lengthOf(str(s)))), checkWide);
  wrap(String, 'raw', (_, args) => natives.checkSize(args), checkWide);

  for (const name of ['ArrayBuffer', 'SharedArrayBuffer', 'Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array',
    'Uint32Array', 'Float32Array', 'Float64Array']) {
    mask(name, (args) => {
      if (args[0] > maxLength) range('Invalid typed array length');
      checkRoom(args[0], elementSize);
      checkList(args[0]);
    });
  }

  wrap(JSON, 'parse', (_, args) => {
    const text = (args[0] = str(args[0]));
    checkChars(text.length);
    if (text.length > maxWideText && natives.isWide(text)) range('JSON with characters beyond ASCII is longer than ' + maxWideText + ': parse it in parts');
    natives.checkText(text);
  });
  wrap(JSON, 'rawJSON', (_, args) => {
    args[0] = str(args[0]);
    if (args[0].length > maxWide) range('the text is longer than ' + maxWide + ' characters');
  });
  wrap(JSON, 'stringify', (_, args) => {
    natives.checkSize(args[0]);
    if (typeof args[2] === 'number' && args[2] > 10) args[2] = 10;
  });

  // Code in a text is checked and compiled like the code of a function.
  const evaluate = (source) => {
    natives.checkSource(source);
    const program = natives.compile(source);
    if (typeof program === 'string') throw new SyntaxError(program);
    return natives.run(program);
  };
  const { eval: evalText } = { eval(text) { return typeof text === 'string' ? evaluate(text) : text; } };
  define(global, 'eval', { value: evalText, writable: true, configurable: true });
  const makeFunction = (args) => {
    const parts = args.map(str), body = parts.length > 0 ? parts.pop() : '';
    return evaluate('(function anonymous(' + parts.join() + '\n) {\n' + body + '\n})');
  };
  mask('Function', none, makeFunction);
  for (const fn of [function* () {}, async function () {}]) {
    define(Object.getPrototypeOf(fn), 'constructor', { value: function () { throw new Error('not supported'); }, writable: false, configurable: false });
  }
  // Big integers grow without bound, and proxies of proxies recurse.
  for (const name of ['BigInt', 'BigInt64Array', 'BigUint64Array', 'Proxy', 'WebAssembly', 'Atomics']) delete global[name];
  delete DataView.prototype.getBigInt64;
  delete DataView.prototype.getBigUint64;
  return { wrap, mask, range, checkRoom, elementSize, join };
})
