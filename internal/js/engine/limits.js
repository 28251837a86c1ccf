// Limits for single calls of JavaScript's built-in functions. The engine checks for interrupts only
// between two instructions of a script. So a call that would take long, need much memory or recurse
// deeply must be rejected before it begins.
(function (global, natives) {
  'use strict';
  const maxLength = natives.maxLength, { checkChars, checkWide } = natives, maxCall = 1e5, maxKeys = 2e5, maxEntries = 1e5, maxPromises = 1e4, maxFlat = 100, maxCompared = 1 << 19, maxWide = 1 << 22, maxWideText = 1 << 21, maxNormalized = 1 << 20, maxNumber = 1 << 20, maxDate = 1 << 10, few = 16, maxUncopied = 256;
  const apply = Reflect.apply, construct = Reflect.construct, define = Object.defineProperty, str = String, { join, concat: nativeConcat } = Array.prototype;
  const describe = Object.getOwnPropertyDescriptor, parent = Object.getPrototypeOf, typed = parent(Uint8Array.prototype);
  const range = (what) => { throw new RangeError(what); };
  const { includes } = String.prototype, has = (s, part) => apply(includes, s, [part]);
  const isObject = (x) => x !== null && (typeof x === 'object' || typeof x === 'function');
  // After a check, the built-in function reads its arguments again. They must not change in
  // between. So arguments become primitive values before the check, and the length of an object
  // that is not an array must be a plain number. Functions that run code of the script between two
  // elements check the limits at each element.
  define(typed, 'length', { ...describe(typed, 'length'), configurable: false });
  define(Array.prototype, Symbol.iterator, { value: Array.prototype.values, writable: false, configurable: false });
  const checkPlain = (x) => {
    if (!isObject(x) || Array.isArray(x)) return;
    for (let o = x; o !== null && o !== typed; o = parent(o)) {
      const d = describe(o, 'length');
      if (d === undefined) continue;
      if (!('value' in d) || isObject(d.value)) throw new TypeError('the length of what is no array must be a number');
      return;
    }
  };
  natives.setCheckPlain(checkPlain);
  const lengthOf = (x) => {
    if (x === null || x === undefined) return 0;
    checkPlain(x);
    const n = +x.length || 0;
    if (n > few && n <= maxLength && isObject(x)) natives.checkChain(x, n); // callers reject longer lists
    return n;
  };
  // A function that makes a large value checks the memory first.
  const large = natives.large, elementSize = natives.elementSize, entrySize = 8 * elementSize;
  const checkRoom = (n, size) => { if (n > large) natives.room(n * size); };
  const checkList = (x) => {
    const n = lengthOf(x);
    if (n > maxLength) range('Invalid array length');
    checkRoom(n, elementSize);
  };

  // wrap replaces a method. The new method calls before, which may change the arguments or throw an
  // error, then the old method, and then after with the result.
  function wrap(object, name, before, after) {
    const native = object[name];
    if (typeof native !== 'function') return;
    const value = {
      value(...args) {
        const self = object === String.prototype && this !== undefined && this !== null ? `${this}` : this;
        before(self, args);
        return after === undefined ? apply(native, self, args) : after(apply(native, self, args));
      },
    }.value;
    define(object, name, { value, writable: true, configurable: true });
  }
  // mask replaces a constructor. instanceof and the static members work as before. If instead is
  // given, it makes the objects.
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

  // checkKeys limits the number of properties of the arguments. The properties of a text are its
  // characters, and the properties of a list are its elements.
  const checkKeys = (max) => (_, args) => {
    for (let i = 0; i < args.length; i++) {
      const n = ArrayBuffer.isView(args[i]) ? lengthOf(args[i]) : natives.countKeys(args[i]);
      if (n > max) range('the value has too many properties');
      checkRoom(n, entrySize);
    }
  };
  for (const name of ['keys', 'values', 'assign', 'getOwnPropertyNames', 'getOwnPropertySymbols', 'freeze', 'isFrozen', 'seal', 'isSealed', 'preventExtensions']) wrap(Object, name, checkKeys(maxKeys));
  // Setting a property that the target does not have searches all its prototypes.
  wrap(Object, 'assign', (_, args) => {
    let n = 0;
    for (let i = 1; i < args.length; i++) n += natives.countKeys(args[i]);
    if (isObject(args[0])) natives.checkChain(args[0], n);
  });
  for (const name of ['entries', 'defineProperties', 'getOwnPropertyDescriptors', 'create', 'groupBy']) wrap(Object, name, checkKeys(maxEntries));
  for (const name of ['ownKeys', 'preventExtensions']) wrap(Reflect, name, checkKeys(maxKeys));

  // A getter may change the prototypes of a list while a method visits the list. So each change of
  // a prototype checks the lists that are being visited again.
  const relink = Object.setPrototypeOf, proto = describe(Object.prototype, '__proto__');
  const relinked = (set, object, args) => {
    const before = args[0] === undefined || args[0] === null ? null : parent(args[0]), result = apply(set, object, args);
    try {
      natives.relinked();
    } catch (e) {
      relink(args[0], before);
      throw e;
    }
    return result;
  };
  const setters = {
    object: { setPrototypeOf(x, to) { return relinked(relink, Object, [x, to]); } }.setPrototypeOf,
    reflect: { setPrototypeOf(x, to) { return relinked(relinkQuietly, Reflect, [x, to]); } }.setPrototypeOf,
  }, relinkQuietly = Reflect.setPrototypeOf;
  define(Object, 'setPrototypeOf', { value: setters.object, writable: true, configurable: true });
  define(Reflect, 'setPrototypeOf', { value: setters.reflect, writable: true, configurable: true });
  const setProto = (x, to) => apply(proto.set, x, [to]);
  define(Object.prototype, '__proto__', { ...proto, set(to) { relinked(setProto, undefined, [this, to]); } });

  // The engine's own fromEntries fails for an entry without a key.
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

  // The engine would ignore locales silently.
  const checkLocale = (args) => {
    if (args[0] !== undefined || args[1] !== undefined) throw new TypeError('locales and their options are not supported');
  };
  wrap(Number.prototype, 'toLocaleString', (_, args) => checkLocale(args));
  for (const name of ['toLocaleString', 'toLocaleDateString', 'toLocaleTimeString']) wrap(Date.prototype, name, (_, args) => checkLocale(args));
  const joined = {
    join(separator) {
      if (this === undefined || this === null) throw new TypeError('join called on null or undefined');
      const by = separator === undefined ? ',' : `${separator}`;
      checkList(this);
      return natives.join(Object(this), by, lengthOf(this));
    },
    toLocaleString(...args) {
      checkLocale(args);
      checkList(this);
      const texts = [];
      for (let i = 0, n = lengthOf(this); i < n; i++) texts[i] = this[i] === undefined || this[i] === null ? '' : `${this[i].toLocaleString()}`;
      return natives.join(texts, ',', texts.length);
    },
    concat(...args) {
      if (this === undefined || this === null) throw new TypeError('concat called on null or undefined');
      let list = [];
      for (let i = -1; i < args.length; i++) list = added(list, i < 0 ? (isObject(this) ? this : Object(this)) : args[i]);
      return list;
    },
    flat(depth) {
      const list = [], most = depth === undefined ? 1 : Math.min(+depth || 0, maxFlat);
      flatten(list, this, most);
      return list;
    },
  };
  // added returns the list with x appended. If x is spreadable, it appends the elements of x.
  const added = (list, x) => {
    if (Array.isArray(x) && !(Symbol.isConcatSpreadable in x)) {
      const n = list.length + x.length;
      if (n > maxLength) range('Invalid array length');
      checkRoom(n, elementSize);
      if (n <= large) return apply(nativeConcat, list, [x]); // the native function takes up to a microsecond per element
    }
    const spread = isObject(x) ? x[Symbol.isConcatSpreadable] : false;
    const begin = list.length, n = (spread === undefined ? Array.isArray(x) : spread) ? lengthOf(x) : -1;
    if (begin + n > maxLength) range('Invalid array length');
    if (n < 0) list[begin] = x;
    for (let i = 0; i < n; i++) if (i in x) list[begin + i] = x[i];
    if (n > 0) list.length = begin + n;
    return list;
  };
  const flatten = (list, from, depth) => {
    checkList(from);
    for (let i = 0, n = lengthOf(from); i < n; i++) {
      if (!(i in from)) continue;
      const x = from[i];
      if (depth > 0 && Array.isArray(x)) flatten(list, x, depth - 1);
      else if (list.length < maxLength) list[list.length] = x;
      else range('Invalid array length');
    }
  };
  for (const name of Object.keys(joined)) define(Array.prototype, name, { value: joined[name], writable: true, configurable: true });
  define(typed, 'join', { value: joined.join, writable: true, configurable: true });
  const copy = (x, n) => {
    const list = [];
    for (let i = 0; i < n; i++) list[i] = x[i];
    return list;
  };
  // iterated returns x or an object with the elements of x. A script cannot change its iteration
  // after the check.
  const iterated = (x) => {
    if (!isObject(x) || (Array.isArray(x) && parent(x) === Array.prototype && describe(x, Symbol.iterator) === undefined)) return x;
    const iterate = x[Symbol.iterator];
    if (iterate !== undefined && iterate !== null) return { [Symbol.iterator]: () => apply(iterate, x, []) };
    return copy(x, lengthOf(x));
  };
  // An iteration takes a microsecond per element, so lists are limited to fewer elements here.
  const checkIterated = (_, args) => {
    const list = args[0];
    const n = list !== null && typeof list === 'object' && list.size > 0 ? list.size : lengthOf(list);
    if (n > maxKeys) range('Invalid array length');
    checkRoom(n, entrySize);
    args[0] = iterated(list);
  };
  wrap(Array, 'from', checkIterated);
  wrap(parent(Uint8Array), 'from', checkIterated);
  for (const name of ['all', 'allSettled', 'any', 'race']) {
    wrap(Promise, name, (_, args) => { if (lengthOf(args[0]) > maxPromises || (args[0] && args[0].size > maxPromises)) range('Invalid array length'); });
  }
  // copied copies a long list of arguments. Interrupts can end the copying, because it is written
  // in JavaScript.
  const copied = (x) => {
    const n = lengthOf(x);
    if (n > maxCall) range('too many arguments');
    return n > maxUncopied ? copy(x, n) : x;
  };
  wrap(Function.prototype, 'apply', (_, args) => { args[1] = copied(args[1]); });
  wrap(Reflect, 'apply', (_, args) => { args[2] = copied(args[2]); });
  wrap(Reflect, 'construct', (_, args) => { args[1] = copied(args[1]); });
  wrap(typed, 'set', (_, args) => {
    const list = args[0];
    if (!isObject(list) || ArrayBuffer.isView(list)) return;
    checkList(list);
    args[0] = copy(list, lengthOf(list));
  });
  // The native bind would recurse in Go if a bound function is bound again and again.
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

  const times = (s, args) => {
    args[0] = +args[0];
    checkChars(s.length * args[0]);
  };
  wrap(String.prototype, 'repeat', times, checkWide);
  wrap(String.prototype, 'localeCompare', (s, args) => {
    checkLocale([args[1], args[2]]);
    if (s.length + (args[0] = `${args[0]}`).length > maxCompared) range('the texts are too long: compare parts of ' + maxCompared / 2 + ' characters');
  });
  // A long sort gets a comparator, which checks for interrupts.
  for (const name of ['sort', 'toSorted']) wrap(typed, name, (list, args) => { if (args[0] === undefined && lengthOf(list) > maxKeys) args[0] = natives.compareNumbers; });
  wrap(typed, 'toLocaleString', (list, args) => {
    checkLocale(args);
    if (lengthOf(list) > maxKeys) range('Invalid array length');
  });
  for (const name of ['toUpperCase', 'toLowerCase', 'toLocaleUpperCase', 'toLocaleLowerCase']) {
    wrap(String.prototype, name, (s, args) => {
      if (has(name, 'Locale')) checkLocale(args);
      checkChars(s.length);
      if (s.length > maxWide && natives.isWide(s)) range('the text is too long: change its case in parts of ' + maxWide + ' characters');
    });
  }
  wrap(String.prototype, 'normalize', (s) => { if (s.length > maxNormalized) range('the text is too long: normalize it in parts of ' + maxNormalized + ' characters'); });
  wrap(global, 'parseFloat', (_, args) => {
    args[0] = str(args[0]);
    if (args[0].length > maxNumber) range('the text of a number is longer than ' + maxNumber + ' characters');
  });
  define(Number, 'parseFloat', { value: global.parseFloat, writable: true, configurable: true });
  // A long text is not a date. A short invalid text replaces it, which the engine rejects quickly.
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
  // A non-ASCII code unit becomes up to three bytes, each of which is written as %XX.
  for (const name of ['encodeURI', 'encodeURIComponent', 'decodeURI', 'decodeURIComponent', 'escape', 'unescape']) {
    wrap(global, name, (_, args) => {
      const text = (args[0] = str(args[0]));
      checkChars((text.length > large && natives.isWide(text) ? 9 : 3) * text.length);
    });
  }
  const pad = (s, args) => checkChars(args[0] = +args[0]);
  wrap(String.prototype, 'padStart', pad, checkWide);
  wrap(String.prototype, 'padEnd', pad, checkWide);
  const plus = (s, t) => {
    checkChars(s.length + t.length);
    return checkWide(s + t);
  };
  const texts = {
    concat(...args) {
      if (this === undefined || this === null) throw new TypeError('concat called on null or undefined');
      let s = `${this}`;
      for (let i = 0; i < args.length; i++) s = plus(s, `${args[i]}`);
      return s;
    },
    raw(template, ...values) {
      const { raw } = template, n = lengthOf(raw);
      let s = '';
      for (let i = 0; i < n; i++) {
        s = plus(s, `${raw[i]}`);
        if (i + 1 < n && i < values.length) s = plus(s, `${values[i]}`);
      }
      return s;
    },
  };
  define(String.prototype, 'concat', { value: texts.concat, writable: true, configurable: true });
  define(String, 'raw', { value: texts.raw, writable: true, configurable: true });

  const byteLength = describe(ArrayBuffer.prototype, 'byteLength').get;
  const isBuffer = (x) => {
    try { return apply(byteLength, x, []) >= 0; } catch (e) { return false; }
  };
  for (const name of ['ArrayBuffer', 'SharedArrayBuffer', 'Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array',
    'Uint32Array', 'Float32Array', 'Float64Array']) {
    mask(name, (args) => {
      if (!isObject(args[0])) args[0] = +args[0] || 0;
      else if (name.endsWith('Buffer')) args[0] = +args[0];
      else if (!ArrayBuffer.isView(args[0]) && !isBuffer(args[0])) checkIterated(undefined, args);
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
  // stringify gets a function that it calls for each value, so that an interrupt can end it.
  const nativeStringify = JSON.stringify, nativeParse = JSON.parse, same = (_, value) => value;
  wrap(JSON, 'stringify', (_, args) => {
    natives.checkSize(args[0]);
    if (isObject(args[2])) args[2] = args[2] instanceof Number ? +args[2] : args[2] instanceof String ? `${args[2]}` : undefined;
    if (typeof args[2] === 'number' && args[2] > 10) args[2] = 10;
    if (typeof args[1] === 'function') return;
    if (Array.isArray(args[1])) { // the fields to keep, taken from a copy that has no getters and no toJSON
      const text = nativeStringify(args[0], same);
      args[0] = text === undefined ? undefined : nativeParse(text);
    } else args[1] = same;
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
  // The functions for a direct call of eval: see eval.go.
  const known = (get) => {
    try { get(); } catch (e) { return !(e instanceof ReferenceError && has(e.message, 'is not defined')); }
    return true;
  };
  const scopeOf = (self, variables) => {
    const scope = Object.create(null);
    define(scope, ' this', { get: self, set: undefined });
    for (let i = 0; i < variables.length; i++) {
      const [name, get, set] = variables[i];
      if (known(get)) define(scope, name, { get, set, configurable: true });
    }
    return scope;
  };
  natives.defineHidden(' eval', evalText);
  natives.defineHidden(' code', (f, ...args) => {
    if (f !== evalText || typeof args[0] !== 'string') return { value: f(...args) };
    const source = natives.variables(args[0]);
    if (typeof source === 'string') throw new SyntaxError(source);
    return source[0];
  });
  natives.defineHidden(' run', (frame) => {
    if (!Array.isArray(frame)) return frame.value;
    const [text, strict, self, variables] = frame;
    const program = natives.compileDirect(text, strict);
    if (typeof program === 'string') throw new SyntaxError(program);
    return natives.runDirect(program, scopeOf(self, variables));
  });
  const makeFunction = (args) => {
    const parts = args.map(str), body = parts.length > 0 ? parts.pop() : '';
    return evaluate('(function anonymous(' + parts.join() + '\n) {\n' + body + '\n})');
  };
  mask('Function', none, makeFunction);
  for (const fn of [function* () {}, async function () {}]) {
    define(Object.getPrototypeOf(fn), 'constructor', { value: function () { throw new Error('not supported'); }, writable: false, configurable: false });
  }
  // A script's iterator may have a built-in function as its method next. If the function returns an
  // object, the iterator never ends, and no code of the script runs between two steps. So each
  // built-in function that may return an object checks for interrupts.
  const iterator = parent(parent([].values())), species = Symbol.species;
  const returning = [
    [Object.prototype, ['valueOf', '__proto__']], [iterator, [Symbol.iterator]], [String.prototype, [Symbol.iterator]],
    [Array, ['of', species]], [Map, [species]], [Set, [species]], [Promise, ['resolve', 'reject', species]], [RegExp, [species]],
    [Map.prototype, ['set', 'entries', 'keys', 'values', Symbol.iterator]], [Set.prototype, ['add', 'entries', 'keys', 'values', Symbol.iterator]],
    [Promise.prototype, ['then', 'catch', 'finally']], [RegExp.prototype, [Symbol.matchAll]],
    [ArrayBuffer, [species]], [ArrayBuffer.prototype, ['slice']], [DataView.prototype, ['buffer']], [parent(Uint8Array), ['of', species]],
    [typed, ['buffer', 'copyWithin', 'entries', 'fill', 'keys', 'reverse', 'slice', 'subarray', 'toReversed', 'values', 'with', Symbol.iterator]],
  ];
  for (const [object, names] of returning) {
    for (const name of names) {
      const d = describe(object, name);
      if (d === undefined) continue;
      if (d.get !== undefined) d.get = natives.heard(d.get);
      else d.value = natives.heard(d.value);
      define(object, name, d);
    }
  }
  const errors = ['RangeError', 'TypeError', 'SyntaxError', 'ReferenceError', 'EvalError', 'URIError', 'AggregateError', 'GoError'];
  for (const name of ['Object', 'Array', 'Error', ...errors]) mask(name, none);
  for (const name of errors) Object.setPrototypeOf(global[name], global.Error);
  // Without a species the engine makes arrays itself, which is faster.
  const { Array: List } = global, listSpecies = { get species() { return this === List ? undefined : this; } };
  define(List, species, { get: describe(listSpecies, 'species').get, configurable: true });
  // Scripts do not get these classes: big integers grow without limit, and proxies of proxies
  // recurse in Go.
  for (const name of ['BigInt', 'BigInt64Array', 'BigUint64Array', 'Proxy', 'WebAssembly', 'Atomics']) delete global[name];
  delete DataView.prototype.getBigInt64;
  delete DataView.prototype.getBigUint64;
  return { wrap, mask, range, checkRoom, elementSize, join };
})
