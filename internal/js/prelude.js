// The classes and functions that MongoDB's JavaScript engine defines. Each instance carries what tobson.go needs.
(function (global) {
  'use strict';
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

  const minLong = BigInt('-9223372036854775808'), maxLong = BigInt('9223372036854775807');
  define(class {
    constructor(v) {
      if (v === undefined) v = 0;
      if (typeof v === 'object' && v !== null && v._bsontype === 'NumberLong') v = v.digits;
      if (typeof v === 'number') v = String(BigInt(Math.trunc(v)));
      const n = BigInt(v);
      if (n < minLong || n > maxLong) throw new Error('could not convert "' + v + '" to NumberLong');
      hidden(this, { digits: String(n) });
      this.floatApprox = Number(n);
    }
    toNumber() { return this.floatApprox; }
    valueOf() { return this.floatApprox; }
    toJSON() { return { $numberLong: this.digits }; }
    toString() {
      return Number.isSafeInteger(this.floatApprox) ? 'NumberLong(' + this.digits + ')' : 'NumberLong("' + this.digits + '")';
    }
    compare(other) {
      const a = BigInt(this.digits), b = BigInt(new global.NumberLong(other).digits);
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
    toString() { return 'BinData(' + this.type + ',"' + this.base64() + '")'; }
    toJSON() { return { $binary: this.base64(), $type: this.type.toString(16).padStart(2, '0') }; }
  }, 'BinData');
  global.HexData = (type, hex) => new global.BinData(type, hexToBase64(hex));
  global.UUID = (text) => global.HexData(4, text.replace(/-/g, ''));
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
  }, 'DBRef');
  define(class { constructor(ns, id) { this.ns = ns; this.id = id; } }, 'DBPointer');
  define(class { constructor(code, scope) { this.code = String(code); this.scope = scope; } }, 'Code');
  define(class { toJSON() { return { $minKey: 1 }; } }, 'MinKey');
  define(class { toJSON() { return { $maxKey: 1 }; } }, 'MaxKey');

  global.ISODate = (text) => text === undefined ? new Date() : new Date(text);
  global.isString = (x) => typeof x === 'string';
  global.isNumber = (x) => typeof x === 'number';
  global.isObject = (x) => x instanceof Object;
  global.tojson = (x) => JSON.stringify(x);
  global.tojsononeline = global.tojson;
  global.print = () => {};
})(globalThis);
