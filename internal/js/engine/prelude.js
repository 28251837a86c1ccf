// The classes and functions that MongoDB's JavaScript engine defines. Each instance has the
// properties that tobson.go reads.
(function (global) {
  'use strict';
  const BigInt = global.BigInt;
  function define(cls, type) {
    Object.defineProperty(cls.prototype, '_bsontype', { value: type });
    // MongoDB's constructors may be called without new.
    const callable = function (...args) { return new cls(...args); };
    callable.prototype = cls.prototype;
    Object.defineProperty(cls.prototype, 'constructor', { value: callable, configurable: true, writable: true });
    Object.defineProperty(callable, 'name', { value: type });
    global[type] = callable;
    return callable;
  }
  function hidden(object, fields) {
    for (const key in fields) Object.defineProperty(object, key, { value: fields[key] });
  }
  const hexDigits = (s, n) => typeof s === 'string' && s.length === n && /^[0-9a-fA-F]*$/.test(s);

  define(class {
    constructor(str) {
      if (str === undefined) {
        str = Math.floor(Date.now() / 1000).toString(16).padStart(8, '0').slice(-8);
        while (str.length < 24) str += Math.floor(Math.random() * 16).toString(16);
      }
      if (!hexDigits(str, 24)) throw new Error('Invalid object ID: length or characters');
      this.str = str.toLowerCase();
    }
    toString() { return 'ObjectId("' + this.str + '")'; }
    toJSON() { return { $oid: this.str }; }
    valueOf() { return this.str; }
    getTimestamp() { return new Date(parseInt(this.str.slice(0, 8), 16) * 1000); }
    equals(other) { return other !== null && other !== undefined && this.str === other.str; }
  }, 'ObjectId');
  global.ObjectID = global.ObjectId;

  // whole converts a value to a big integer. It rejects long texts, because the engine takes
  // minutes for millions of digits.
  const maxDigits = 1000;
  const whole = (v) => {
    if (typeof v === 'object' && v !== null) v = String(v);
    if (typeof v === 'string' && v.length > maxDigits) throw new RangeError('the text of a NumberLong is longer than ' + maxDigits + ' characters');
    return BigInt(v);
  };
  const minLong = BigInt('-9223372036854775808'), maxLong = BigInt('9223372036854775807');
  define(class {
    constructor(v) {
      if (v === undefined) v = 0;
      if (typeof v === 'object' && v !== null && v._bsontype === 'NumberLong') v = v.digits;
      if (typeof v === 'number') v = String(BigInt(Math.trunc(v)));
      const n = whole(v);
      if (n < minLong || n > maxLong) throw new Error('could not convert "' + v + '" to NumberLong');
      hidden(this, { digits: String(n) });
      this.floatApprox = Number(n);
    }
    toNumber() { return this.floatApprox; }
    valueOf() { return this.floatApprox; }
    toJSON() { return { $numberLong: this.digits }; }
    get top() { return Number(whole(this.digits) >> 32n); }
    get bottom() { return Number(whole(this.digits) & 0xffffffffn); }
    exactValueString() { return this.digits; }
    toString() {
      return Number.isSafeInteger(this.floatApprox) ? 'NumberLong(' + this.digits + ')' : 'NumberLong("' + this.digits + '")';
    }
    compare(other) {
      const a = whole(this.digits), b = whole(new global.NumberLong(other).digits);
      return a < b ? -1 : a > b ? 1 : 0;
    }
  }, 'NumberLong');

  define(class {
    constructor(v) { hidden(this, { value: v === undefined ? 0 : Math.trunc(Number(v)) | 0 }); }
    toNumber() { return this.value; }
    valueOf() { return this.value; }
    toJSON() { return this.value; }
    toString() { return 'NumberInt(' + this.value + ')'; }
  }, 'NumberInt');

  define(class {
    constructor(v) { hidden(this, { digits: v === undefined ? '0' : String(v) }); }
    toString() { return 'NumberDecimal("' + this.digits + '")'; }
    toJSON() { return { $numberDecimal: this.digits }; }
  }, 'NumberDecimal');

  define(class {
    constructor(t, i) { this.t = t || 0; this.i = i || 0; }
    getTime() { return this.t; }
    getInc() { return this.i; }
    toString() { return 'Timestamp(' + this.t + ', ' + this.i + ')'; }
    toJSON() { return { $timestamp: { t: this.t, i: this.i } }; }
  }, 'Timestamp');

  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  function hexToBase64(hex) {
    let out = '';
    for (let i = 0; i < hex.length; i += 6) {
      const part = hex.slice(i, i + 6), n = parseInt(part.padEnd(6, '0'), 16);
      for (let j = 0; j < 4; j++) out += j <= part.length / 2 ? alphabet[(n >> (18 - 6 * j)) & 63] : '=';
    }
    return out;
  }
  function base64ToHex(text) {
    let out = '', bits = 0, n = 0;
    for (const c of text.replace(/=+$/, '')) {
      const v = alphabet.indexOf(c);
      if (v < 0) throw new Error('Invalid base64 string');
      n = ((n << 6) | v) & 0xffff;
      bits += 6;
      if (bits >= 8) {
        bits -= 8;
        out += ((n >> bits) & 255).toString(16).padStart(2, '0');
      }
    }
    return out;
  }
  define(class {
    constructor(type, base64) {
      this.type = type;
      hidden(this, { bytes: base64ToHex(base64) });
      this.len = this.bytes.length / 2;
    }
    length() { return this.len; }
    subtype() { return this.type; }
    hex() { return this.bytes; }
    base64() { return hexToBase64(this.bytes); }
    toString() {
      if (this.type !== 4 || this.len !== 16) return 'BinData(' + this.type + ',"' + this.base64() + '")';
      return 'UUID("' + this.bytes.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-') + '")';
    }
    toJSON() { return { $binary: this.base64(), $type: this.type.toString(16).padStart(2, '0') }; }
  }, 'BinData');
  global.HexData = (type, hex) => new global.BinData(type, hexToBase64(hex));
  global.UUID = (text) => {
    if (text === undefined) {
      const digits = Array.from({ length: 32 }, () => Math.floor(Math.random() * 16));
      digits[12] = 4;
      digits[16] = (digits[16] & 3) | 8;
      text = digits.map((d) => d.toString(16)).join('');
    }
    const hex = String(text).replace(/-/g, '');
    if (!hexDigits(hex, 32)) throw new Error('Invalid UUID string: ' + text);
    return global.HexData(4, hex);
  };
  global.MD5 = (hex) => global.HexData(5, hex);

  define(class {
    constructor(ref, id, db) {
      this.$ref = ref;
      this.$id = id;
      if (db !== undefined) this.$db = db;
    }
    getCollection() { return this.$ref; }
    getRef() { return this.$ref; }
    getId() { return this.$id; }
    getDb() { return this.$db; }
    toString() {
      const db = this.$db === undefined ? '' : ', ' + global.tojson(this.$db);
      return 'DBRef(' + global.tojson(this.$ref) + ', ' + global.tojson(this.$id) + db + ')';
    }
  }, 'DBRef');
  define(class { constructor(ns, id) { this.ns = ns; this.id = id; } }, 'DBPointer');
  define(class { constructor(code, scope) { this.code = String(code); this.scope = scope; } }, 'Code');
  define(class {
    toJSON() { return { $minKey: 1 }; }
    tojson() { return '{ "$minKey" : 1 }'; }
    toString() { return '[object MinKey]'; }
  }, 'MinKey');
  define(class {
    toJSON() { return { $maxKey: 1 }; }
    tojson() { return '{ "$maxKey" : 1 }'; }
    toString() { return '[object MaxKey]'; }
  }, 'MaxKey');

  // ISODate parses the formats of ISO 8601 that MongoDB's shell parses, with or without separators.
  // Without a zone the time is UTC.
  global.ISODate = (text) => {
    if (text === undefined) return new Date();
    const m = /^(\d{4})-?(\d{2})-?(\d{2})(?:[T ](\d{2})(?::?(\d{2})(?::?(\d{2})(?:\.(\d+))?)?)?(Z|[+-]\d{2}(?::?\d{2})?)?)?$/.exec(text);
    if (m === null) throw new Error('invalid ISO date: ' + text);
    const millis = Math.floor(Number('0.' + (m[7] || '0')) * 1000 + 1e-6);
    const date = new Date(Date.UTC(2000, m[2] - 1, m[3], m[4] || 0, m[5] || 0, m[6] || 0, millis));
    date.setUTCFullYear(m[1], m[2] - 1, m[3]);
    if (!m[8] || m[8] === 'Z') return date;
    const minutes = Number(m[8].slice(1, 3)) * 60 + Number(m[8].slice(3).replace(':', '') || 0);
    return new Date(date.getTime() + (m[8][0] === '+' ? -minutes : minutes) * 60000);
  };
  global.isString = (x) => typeof x === 'string';
  global.isNumber = (x) => typeof x === 'number';
  global.isObject = (x) => x instanceof Object;

  // show formats a value for tojson, as MongoDB does. tojson puts a short text on one line.
  function show(x, indent, flat) {
    if (x === null) return 'null';
    switch (typeof x) {
      case 'undefined': return 'undefined';
      case 'string': return JSON.stringify(x);
      case 'object': return showObject(x, indent, flat);
      default: return String(x);
    }
  }
  function showObject(x, indent, flat) {
    if (typeof x.tojson === 'function') return x.tojson(indent, flat);
    if (x instanceof Date) return isNaN(x) ? 'new Date(NaN)' : 'ISODate("' + x.toISOString().replace('.000Z', 'Z') + '")';
    if (x instanceof RegExp || x instanceof Error) return x.toString();
    if (x._bsontype !== undefined && x.toString !== Object.prototype.toString) return x.toString();
    const end = flat ? ' ' : '\n', inner = flat ? indent : indent + '\t';
    const list = Array.isArray(x);
    const items = list
      ? Array.from(x, (v) => inner + show(v, inner, flat))
      : Object.keys(x).map((k) => inner + JSON.stringify(k) + ' : ' + show(x[k], inner, flat));
    if (items.length === 0) return list ? '[ ]' : '{ }';
    return (list ? '[' : '{') + end + items.join(',' + end) + end + indent + (list ? ']' : '}');
  }
  global.tojson = (x, indent, flat) => {
    const text = show(x, indent || '', flat);
    const isPlain = typeof x === 'object' && (flat === undefined || flat === null || flat === true) && !indent;
    return isPlain && text.length < 80 ? text.replace(/[\t\r\n]+/gm, ' ') : text;
  };
  global.tojsononeline = (x) => global.tojson(x, ' ', true);
  global.tojsonObject = (x, indent, flat) => showObject(x, indent || '', flat);
  // Printed text is discarded, because a server has no terminal.
  global.print = global.printjson = global.printjsononeline = () => {};

  const bsonsize = global._bsonsize, equal = global._equal;
  delete global._bsonsize;
  delete global._equal;
  Object.bsonsize = (x) => bsonsize(x);
  Object.extend = (dst, src, deep) => {
    for (const k in src) {
      const v = src[k];
      dst[k] = deep && typeof v === 'object' && v !== null && v._bsontype === undefined && !(v instanceof Date)
        ? Object.extend(Array.isArray(v) ? [] : {}, v, true) : v;
    }
    return dst;
  };
  Object.merge = (a, b, deep) => Object.extend(Object.extend({}, a, deep), b, deep);
  Object.keySet = (x) => Object.keys(x);
  global.bsonBinaryEqual = (a, b) => equal(a, b);
  global.friendlyEqual = (a, b) => a == b || global.tojson(a, '', true) === global.tojson(b, '', true);

  Array.contains = (a, x) => a.some((v) => v == x);
  Array.unique = (a) => a.filter((v, i) => !Array.contains(a.slice(0, i), v));
  Array.shuffle = (a) => {
    for (let i = 0; i < a.length - 1; i++) {
      const j = i + Math.floor(Math.random() * (a.length - i));
      [a[i], a[j]] = [a[j], a[i]];
    }
    return a;
  };
  Array.tojson = (a, indent, flat) => show(a, indent || '', flat);
  Array.sum = (a) => {
    if (a.length === 0) return null;
    let sum = a[0];
    for (let i = 1; i < a.length; i++) sum += a[i];
    return sum;
  };
  Array.avg = (a) => a.length === 0 ? null : Array.sum(a) / a.length;
  Array.stdDev = (a) => {
    const avg = Array.avg(a);
    return Math.sqrt(a.reduce((sum, v) => sum + Math.pow(v - avg, 2), 0) / a.length);
  };
  const method = (cls, name, value) =>
    Object.defineProperty(cls.prototype, name, { value, configurable: true, writable: true });
  method(String, 'ltrim', function () { return this.replace(/^\s+/, ''); });
  method(String, 'rtrim', function () { return this.replace(/\s+$/, ''); });
  method(String, 'pad', function (n, right, chr) {
    return right ? this.padEnd(n, chr || ' ') : this.padStart(n, chr || ' ');
  });
  method(Number, 'toPercentStr', function () { return (this * 100).toFixed(2) + '%'; });
  method(Number, 'zeroPad', function (n) { return this.toString().pad(n, false, '0'); });
  RegExp.escape = (s) => s.replace(/[-[\]{}()*+?.,\\^$|#\s]/g, '\\$&');
  Date.timeFunc = (f, times) => {
    const start = Date.now();
    for (let i = 0; i < (times || 1); i++) f();
    return Date.now() - start;
  };
  global.doassert = (message) => { throw new Error(typeof message === 'object' ? global.tojson(message) : String(message)); };
  global.assert = (ok, message) => { if (!ok) global.doassert('assert failed' + (message === undefined ? '' : ' : ' + message)); };
})(globalThis);
