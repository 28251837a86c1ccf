(function (maxList) {
  'use strict';
  const skipped = new Set(['begin', 'sleep', 'emit', 'gc']);
  const global = globalThis;
  // Makers of large receivers and arguments. The sizes are for a list of a million elements.
  const scaled = (n) => Math.ceil(n * maxList / 1e6);
  const big = {
    numbers: () => { const a = new Array(maxList); for (let i = 0; i < maxList; i++) a[i] = (i * 7919) % 1000003; return a; },
    texts: () => { const n = Math.ceil(maxList / 8), a = new Array(n); for (let i = 0; i < n; i++) a[i] = 'text ' + (i * 7919) % 1000003; return a; },
    objects: () => { const n = Math.ceil(maxList / 16), a = new Array(n); for (let i = 0; i < n; i++) a[i] = {k: i, v: 'x'}; return a; },
    lists: () => { const n = Math.ceil(maxList / 16), a = new Array(n); for (let i = 0; i < n; i++) a[i] = [i, i]; return a; },
    pretended: () => ({length: maxList}),
    object: () => { const o = {}; for (let i = 0; i < scaled(200000); i++) o['f' + (i * 7919) % 1000003] = i; return o; },
    text: () => 'word1 wOrd2 '.repeat(scaled(1.3e6)),
    searched: () => 'word1 wOrd2 '.repeat(scaled(6.9e5)), // the longest for a regular expression
    repeated: () => 'a'.repeat(scaled(4e6)),
    digits: () => '1'.repeat(scaled(1.6e7)),
    shared: () => { let a = []; for (let i = 0; i < (maxList > 1e4 ? 30 : 5); i++) a = [a, a]; return [a]; },
    wide: () => 'wörd1 wOrd2 \u{1F600}'.repeat(scaled(8e5)),
    spaces: () => '\u2003'.repeat(scaled(4.1e6)), // the longest that a script makes
    json: () => '[' + '{"a":1},'.repeat(scaled(8e5)) + '1]',
    map: () => { const m = new Map(); for (let i = 0; i < scaled(500000); i++) m.set(i, i); return m; },
    set: () => { const m = new Set(); for (let i = 0; i < scaled(500000); i++) m.add(i); return m; },
    bytes: () => new Uint8Array(maxList).fill(7),
    floats: () => new Float64Array(maxList).map((x, i) => (i * 7919) % 1000003),
    buffer: () => new ArrayBuffer(maxList),
  };
  const kinds = Object.keys(big), slice = Array.prototype.slice;
  const made = {};
  for (const kind of kinds) { // of lists, which calls change, each call gets a copy; the rest is shared
    const make = big[kind];
    big[kind] = () => {
      made[kind] ??= make();
      return Array.isArray(made[kind]) ? slice.call(made[kind]) : made[kind];
    };
  }
  const regexes = [/o?/g, /(w|o)+d/g, /nosuch(.)$/, /(?=(w|o)*$)x/g, /(a?){300}b/, /(.*a){25}$b/g, /(a{1,500}b?){1,2}$z/gy];
  const arguments_ = [
    () => [], () => [1], () => [maxList], () => [0, maxList], () => ['o'], () => ['o', 'xyz'], () => [regexes[0], 'xyz'], () => [regexes[1]], () => [regexes[2]], () => [regexes[3], ''], () => [regexes[4], ''], () => [regexes[5], 'x'], () => [regexes[6], '$`'], () => ['(a?){300}b'], () => [['(.*a){25}$b']], () => ['a{1000}'.repeat(maxList / 300)],
    () => [(x) => x], () => [(a, b) => a - b],
  ];
  const small = {Array: ['numbers', 'texts', 'objects', 'lists', 'shared', 'pretended', 'object'], String: ['text', 'searched', 'wide', 'spaces', 'repeated', 'texts', 'numbers'], Object: ['object', 'numbers'], Map: ['map'], Set: ['set'], ArrayBuffer: ['buffer']};

  // functions calls f for each function of the language, with the holder, the name and the name of
  // the class.
  function functions(f) {
    for (const name of Object.getOwnPropertyNames(global)) {
      const value = global[name];
      if (skipped.has(name) || name === 'globalThis' || value === global) continue;
      if (typeof value === 'function') f(global, name, name, false);
      if (value === null || (typeof value !== 'function' && typeof value !== 'object')) continue;
      each(value, name, false, f);
      if (value.prototype) each(value.prototype, name, true, f);
    }
    const typed = Object.getPrototypeOf(Uint8Array);
    each(typed.prototype, 'TypedArray', true, f);
    each(Object.getPrototypeOf(new Map().entries()), 'MapIterator', true, f);
    each(Object.getPrototypeOf([].values()), 'ArrayIterator', true, f);
  }
  function each(holder, name, isPrototype, f) {
    for (const key of Reflect.ownKeys(holder)) {
      const d = Object.getOwnPropertyDescriptor(holder, key);
      if (key !== 'constructor' && typeof d.value === 'function') f(holder, key, name, isPrototype);
    }
  }
  const calls = [];
  function measure(name, fn, self, args) {
    calls.push([name, () => {
      let receiver, list;
      try { receiver = self(); list = args(); } catch (e) { return; }
      begin();
      try { fn.apply(receiver, list); } catch (e) { /* refused */ }
    }]);
  }
  functions((holder, key, name, isPrototype) => {
    const fn = holder[key], title = name + (isPrototype ? '.prototype.' : '.') + String(key);
    if (isPrototype) {
      const receivers = small[name] || (name.endsWith('Array') ? ['bytes', 'floats'] : name === 'RegExp' ? [] : ['object']);
      for (const kind of receivers) arguments_.forEach((args, i) => measure(title + ' of ' + kind + ' ' + i, fn, big[kind], args));
      for (const kind of kinds) {
        const own = receivers[0];
        if (own) measure(title + ' of ' + own + ' with ' + kind, fn, big[own], () => [big[kind]()]);
        if (name === 'RegExp') regexes.forEach((r, i) => measure(title + ' ' + i + ' with ' + kind, fn, () => r, () => [big[kind](), 'xyz']));
      }
      return;
    }
    for (const kind of kinds) {
      measure(title + ' with ' + kind, fn, () => (holder === global ? undefined : holder), () => [big[kind]()]);
      measure(title + ' with ' + kind + ' and 2', fn, () => (holder === global ? undefined : holder), () => [big[kind](), (x) => x, 2]);
      if (typeof fn === 'function' && holder === global && fn.prototype) measure('new ' + title + ' with ' + kind, (x) => new fn(x), () => undefined, () => [big[kind]()]);
    }
  });
  return calls;
})
