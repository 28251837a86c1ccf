// The functions that replace `+` in scripts (see concat.go), and the check of a text's length.
(function (room, checkWide, maxChars, maxWideMade, large) {
  'use strict';
  const checkChars = (n) => {
    if (n > maxChars) throw new RangeError('Invalid string length');
    if (n > large) room(n);
  };
  const result = (sum) => {
    if (typeof sum === 'string') {
      checkChars(sum.length);
      if (sum.length > maxWideMade) checkWide(sum);
    }
    return sum;
  };
  const concat = (a, b) => {
    if (typeof a !== 'string' || typeof b !== 'string') return result(a + b);
    checkChars(a.length + b.length);
    return a.length + b.length > maxWideMade ? checkWide(a + b) : a + b;
  };
  return { concat, result, checkChars };
})
