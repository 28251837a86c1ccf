// Regular expressions within limits. All searches go through exec and test, which interrupts can
// end. natives.search checks for interrupts while it searches. The engine's own search is used only
// if it is short, or if it backtracks and so has a time limit. Methods that search many times are
// written in JavaScript, so that an interrupt can end them between two searches.
(function (global, natives, tools) {
  'use strict';
  const { wrap, mask, range, checkRoom, elementSize, join } = tools, { maxNative, maxSearched, checkChars, checkWide } = natives;
  const apply = Reflect.apply, define = Object.defineProperty, now = Date.now;
  const { slice, indexOf, codePointAt } = String.prototype;
  const proto = RegExp.prototype;
  const cut = (s, from, to) => apply(slice, s, [from, to]);
  const has = (s, part) => apply(indexOf, s, [part]) >= 0;
  const isObject = (x) => (typeof x === 'object' && x !== null) || typeof x === 'function';
  const toLength = (x) => { const n = Math.trunc(+x); return n > 0 ? Math.min(n, Number.MAX_SAFE_INTEGER) : 0; };

  // These functions return the source and flags with which an expression was compiled, even if a
  // script has replaced its properties.
  const getter = (name) => {
    const { get } = Object.getOwnPropertyDescriptor(proto, name);
    return (regex) => apply(get, regex, []);
  };
  const source = getter('source'), isGlobal = getter('global'), isSticky = getter('sticky');
  const ignoreCase = getter('ignoreCase'), multiline = getter('multiline'), dotAll = getter('dotAll'), unicode = getter('unicode');
  const modes = (regex) => (ignoreCase(regex) ? 'i' : '') + (multiline(regex) ? 'm' : '') + (dotAll(regex) ? 's' : '') + (unicode(regex) ? 'u' : '');
  const isRegExp = (x) => {
    try { return source(x) !== undefined && x !== proto; } catch (e) { return false; }
  };

  // startOf converts lastIndex to a number and returns it. So the engine reads the same number
  // later.
  const startOf = (regex) => {
    if (typeof regex.lastIndex !== 'number') regex.lastIndex = +regex.lastIndex;
    return toLength(regex.lastIndex);
  };
  // backtracks reports whether the engine searches by backtracking, with a time limit.
  const backtracks = (regex, at) => ((isGlobal(regex) || isSticky(regex)) && at !== 0) || natives.backtracks(source(regex), modes(regex));
  // search calls the native exec or test.
  const search = (native, regex, s) => {
    if (s.length > maxSearched) range('a regular expression searches at most ' + maxSearched + ' characters: search a part of the text');
    let mayEnd = true;
    if (s.length > natives.short) {
      const moves = isGlobal(regex) || isSticky(regex);
      if (!moves || startOf(regex) === 0) {
        let match = natives.search(source(regex), modes(regex), s);
        if (match !== undefined && match !== true) {
          if (match !== null && match.index !== 0 && isSticky(regex)) match = null;
          if (moves) regex.lastIndex = match === null ? 0 : match.index + match[0].length;
          return native === nativeExec ? match : match !== null;
        }
        mayEnd = match === undefined;
      }
    }
    const at = regex.lastIndex;
    let start = now(), result = apply(native, regex, [s]);
    if (result || !mayEnd || now() === start || !backtracks(regex, at)) return result;
    // A search that exceeds its time limit returns no match, which may be wrong. So the search is
    // repeated, and its time is measured. The first search does not tell: its time limit ends too
    // early if the limit's clock was late at the beginning, and a first search from a lastIndex
    // includes compiling the expression.
    if (isGlobal(regex) || isSticky(regex)) regex.lastIndex = at;
    start = now();
    result = apply(native, regex, [s]);
    if (!result && now() - start >= maxNative) throw new Error('the regular expression took too long: simplify it, or search a shorter text');
    return result;
  };
  const nativeExec = proto.exec, nativeTest = proto.test;
  const { exec, test } = {
    exec(text) { return search(nativeExec, this, `${text}`); },
    test(text) { return search(nativeTest, this, `${text}`); },
  };
  // run calls the method exec of an object.
  const run = (regex, s) => {
    const method = regex.exec;
    if (method === exec || typeof method !== 'function') return search(nativeExec, regex, s);
    const match = apply(method, regex, [s]);
    if (match !== null && !isObject(match)) throw new TypeError('RegExp exec method returned something other than an Object or null');
    return match;
  };

  // checkPattern measures a pattern before it is compiled. It replaces arguments whose text could
  // change later.
  const checkPattern = (args) => {
    const pattern = args[0];
    let text = pattern;
    if (isObject(pattern)) {
      const like = pattern[Symbol.match];
      if (isRegExp(pattern) && (like === undefined || like)) {
        if (args[1] === undefined) return;
        text = source(pattern);
      } else if (like) {
        text = args[0] = `${pattern.source}`;
        if (args[1] === undefined) args[1] = pattern.flags;
      } else text = args[0] = `${pattern}`;
    } else if (pattern !== undefined) text = args[0] = `${pattern}`;
    if (args[1] !== undefined) args[1] = `${args[1]}`;
    natives.check(text === undefined ? '' : text, args[1] === undefined ? '' : args[1]);
  };
  mask('RegExp', checkPattern);
  const Pattern = global.RegExp;
  wrap(proto, 'compile', (_, args) => checkPattern(args));
  for (const name of ['match', 'matchAll', 'search']) {
    const method = Symbol[name];
    wrap(String.prototype, name, (_, args) => {
      if (!isObject(args[0]) || args[0][method] === undefined || args[0][method] === null) args[0] = new Pattern(args[0], name === 'matchAll' ? 'g' : undefined);
    });
  }
  // Short texts have few matches. For them the engine's own methods are used, which are faster. For
  // each match, a part of a replacement such as $` may be as long as the text.
  const maxShort = 1 << 19, maxSplit = 1 << 8, maxGrown = 1 << 24, maxTimes = 1 << 26, maxParts = 1 << 12, maxTexts = 1 << 18;
  const nativeMatch = proto[Symbol.match], nativeReplace = proto[Symbol.replace], nativeSplit = proto[Symbol.split], nativeReplaceAll = String.prototype.replaceAll;
  const isShort = (s) => s.length * (8 + natives.groups) <= maxShort;
  const growsLittle = (s, by) => typeof by === 'function' || (has(by, '$') ? s.length * s.length * by.length <= maxTimes : s.length * by.length <= maxGrown);

  // after returns the position after an empty match.
  const after = (s, at, full) => at + (full && apply(codePointAt, s, [at]) > 0xffff ? 2 : 1);
  // all returns all matches of a global expression.
  const all = (regex, s, full) => {
    const matches = [];
    regex.lastIndex = 0;
    for (;;) {
      const match = run(regex, s);
      if (match === null) return matches;
      matches[matches.length] = match;
      if (`${match[0]}` === '') regex.lastIndex = after(s, toLength(regex.lastIndex), full);
    }
  };

  // builder joins texts, a part at a time.
  const builder = () => {
    const chunks = [];
    let parts = [], size = 0;
    const flush = () => {
      checkChars(size);
      chunks[chunks.length] = apply(join, parts, ['']);
      parts = [];
    };
    return {
      add(text) {
        if (text === '') return;
        size += text.length;
        parts[parts.length] = text;
        if (parts.length >= maxParts || text.length > maxParts) flush();
      },
      text() {
        flush();
        return checkWide(apply(join, chunks, ['']));
      },
    };
  };
  // substitute appends a replacement in which parts of the match replace patterns such as $1.
  const substitute = (out, by, s, matched, position, match) => {
    const groups = match.groups, last = match.length - 1;
    const digit = (at) => (by[at] >= '0' && by[at] <= '9' ? +by[at] : -1);
    for (let at = 0, dollar; ; ) {
      dollar = apply(indexOf, by, ['$', at]);
      if (dollar < 0) return out.add(cut(by, at));
      out.add(cut(by, at, dollar));
      at = dollar + 2;
      const c = by[dollar + 1];
      if (c === '$') out.add('$');
      else if (c === '&') out.add(matched);
      else if (c === '`') out.add(cut(s, 0, position));
      else if (c === "'") out.add(cut(s, position + matched.length));
      else if (c === '<' && groups !== undefined && apply(indexOf, by, ['>', at]) >= 0) {
        const end = apply(indexOf, by, ['>', at]), value = groups[cut(by, at, end)];
        if (value !== undefined) out.add(`${value}`);
        at = end + 1;
      } else {
        let n = digit(at - 1);
        if (n >= 0 && n <= last && digit(at) >= 0 && n * 10 + digit(at) <= last) n = n * 10 + digit(at++);
        if (n > 0 && n <= last) {
          if (match[n] !== undefined) out.add(`${match[n]}`);
        } else {
          out.add('$');
          at = dollar + 1;
        }
      }
    }
  };
  // replaceMatches returns a text with its matches replaced.
  const replaceMatches = (s, matches, by) => {
    const out = builder(), calls = typeof by === 'function', plain = calls || !has(by, '$');
    let end = 0;
    for (let i = 0; i < matches.length; i++) {
      const match = matches[i], matched = `${match[0]}`, position = Math.min(toLength(match.index), s.length);
      let value = by;
      if (calls) {
        const args = [matched];
        for (let k = 1; k < match.length; k++) args[k] = match[k] === undefined ? undefined : `${match[k]}`;
        args[args.length] = position;
        args[args.length] = s;
        if (match.groups !== undefined) args[args.length] = match.groups;
        value = `${apply(by, undefined, args)}`;
      }
      if (position < end) continue;
      out.add(cut(s, end, position));
      if (plain) out.add(value);
      else substitute(out, by, s, matched, position, match);
      end = position + matched.length;
    }
    out.add(cut(s, end));
    return out.text();
  };
  const replacement = (by) => (typeof by === 'function' ? by : `${by}`);

  // splitterOf returns an expression that finds the next separator from lastIndex on. An expression
  // of a script's own class finds a separator only at lastIndex.
  const splitterOf = (regex, flags) => {
    let kind = regex.constructor;
    if (kind !== undefined) {
      if (!isObject(kind)) throw new TypeError('constructor is not an object');
      kind = kind[Symbol.species];
    }
    if (kind === undefined || kind === null) kind = Pattern;
    if (kind === Pattern && isRegExp(regex) && regex.exec === exec) return new Pattern(regex, modes(regex) + 'g');
    return new kind(regex, has(flags, 'y') ? flags : flags + 'y');
  };
  const methods = {
    exec,
    test,
    [Symbol.match](text) {
      const s = `${text}`;
      if (isShort(s)) return apply(nativeMatch, this, [s]);
      const flags = `${this.flags}`;
      if (!has(flags, 'g')) return run(this, s);
      const matches = all(this, s, has(flags, 'u'));
      for (let i = 0; i < matches.length; i++) matches[i] = `${matches[i][0]}`;
      return matches.length === 0 ? null : matches;
    },
    [Symbol.replace](text, by) {
      const s = `${text}`, value = replacement(by);
      if (isShort(s) && growsLittle(s, value)) return apply(nativeReplace, this, [s, value]);
      const flags = `${this.flags}`;
      if (has(flags, 'g')) return replaceMatches(s, all(this, s, has(flags, 'u')), value);
      const match = run(this, s);
      return match === null ? s : replaceMatches(s, [match], value);
    },
    [Symbol.split](text, limit) {
      const s = `${text}`;
      if (s.length <= maxSplit && isShort(s)) return apply(nativeSplit, this, [s, limit]);
      const flags = `${this.flags}`, full = has(flags, 'u');
      const splitter = splitterOf(this, flags), ahead = splitter.exec === exec && isGlobal(splitter) && !isSticky(splitter);
      const most = limit === undefined ? 2 ** 32 - 1 : limit >>> 0, list = [];
      if (most === 0) return list;
      if (s === '') {
        if (run(splitter, s) === null) list[0] = s;
        return list;
      }
      let from = 0;
      for (let at = 0; at < s.length; ) {
        splitter.lastIndex = at;
        const match = run(splitter, s);
        if (match === null) {
          if (ahead) break;
          at = after(s, at, full);
          continue;
        }
        if (ahead) at = match.index;
        if (at >= s.length) break;
        const end = Math.min(toLength(splitter.lastIndex), s.length);
        if (end === from) {
          at = after(s, at, full);
          continue;
        }
        list[list.length] = cut(s, from, at);
        if (list.length === most) return list;
        at = from = end;
        for (let i = 1; i < match.length; i++) {
          list[list.length] = match[i];
          if (list.length === most) return list;
        }
      }
      list[list.length] = cut(s, from);
      return list;
    },
  };
  for (const name of Reflect.ownKeys(methods)) define(proto, name, { value: methods[name], writable: true, configurable: true });

  // A part of the replacement such as $` may be as long as the text, so the product of both lengths
  // is checked.
  wrap(String.prototype, 'replace', (s, args) => {
    if (isObject(args[0])) return;
    args[0] = `${args[0]}`;
    if (typeof args[1] === 'function') return;
    args[1] = `${args[1]}`;
    checkChars(s.length * args[1].length);
  });
  const { replaceAll } = {
    replaceAll(what, by) {
      if (isObject(what) && what[Symbol.replace] !== undefined && what[Symbol.replace] !== null) return apply(nativeReplaceAll, this, [what, by]);
      if (this === undefined || this === null) throw new TypeError('String.prototype.replaceAll called on null or undefined');
      const s = `${this}`, part = `${what}`, value = replacement(by), matches = [];
      if (part !== '' && s.length / part.length <= maxTexts && growsLittle(s, value)) return apply(nativeReplaceAll, s, [part, value]);
      for (let at = apply(indexOf, s, [part]); at >= 0 && at <= s.length; at = apply(indexOf, s, [part, at + (part.length || 1)])) {
        matches[matches.length] = { 0: part, length: 1, index: at };
        if (part === '' && at === s.length) break;
      }
      return replaceMatches(s, matches, value);
    },
  };
  const nativeCut = String.prototype.split, maxCut = 1 << 22;
  const { split } = {
    split(separator, limit) {
      const native = isObject(separator) || separator === undefined || this === undefined || this === null;
      const s = native ? '' : `${this}`;
      checkRoom(s.length, elementSize);
      if (native || s.length <= maxCut) return apply(nativeCut, this, [separator, limit]);
      const part = `${separator}`, most = limit === undefined ? 2 ** 32 - 1 : limit >>> 0, list = [];
      for (let from = 0; list.length < most; ) {
        const at = part === '' ? from + 1 : apply(indexOf, s, [part, from]);
        if (at < 0 || at >= s.length) {
          list[list.length] = cut(s, from);
          break;
        }
        list[list.length] = cut(s, from, at);
        from = at + part.length;
      }
      return list;
    },
  };
  define(String.prototype, 'split', { value: split, writable: true, configurable: true });
  define(String.prototype, 'replaceAll', { value: replaceAll, writable: true, configurable: true });
})
