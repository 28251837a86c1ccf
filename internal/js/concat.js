// The functions that replace `+` in scripts (see concat.go), and the check of a text's length.
(function (room, maxChars, large) {
  'use strict';
  const checkChars = (n) => {
    if (n > maxChars) throw new RangeError('Invalid string length');
    if (n > large) room(n);
  };
  const result = (sum) => {
    if (typeof sum === 'string') checkChars(sum.length);
    return sum;
  };
  const concat = (a, b) => {
    if (typeof a !== 'string' || typeof b !== 'string') return result(a + b);
    checkChars(a.length + b.length);
    return a + b;
  };
  return { concat, result, checkChars };
})
