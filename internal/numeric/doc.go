// Package numeric computes with BSON numbers as MongoDB does.
//
// # Concepts
//
// There are two sets of rules for the type of a result:
//
//   - Update operators ($inc, $mul, $bit) widen int32 to int64 if a result does not fit, and fail
//     if an int64 overflows: Inc, IncMul, Bit.
//   - Aggregation expressions widen further, to double: Add, Subtract, Multiply, Divide, Mod and
//     the functions with one argument.
//
// In both sets a decimal128 operand makes the result a decimal128. Otherwise a double operand makes
// it a double.
//
// Decimal arithmetic is exact in 34 digits, rounded half to even, and keeps the preferred exponent
// of IEEE 754-2008: 1.50 + 1 is 2.50. A double becomes a decimal of 15 significant digits, or of 34
// in Sum, Round and Trunc.
//
// # Invariants
//
//  1. Functions that take values expect numbers. A function that can fail returns a *mongoerr.Error
//     for anything else.
//  2. No function changes or keeps its arguments. Results own their bytes. A function whose name
//     ends in In takes the bytes from an arena, except for decimals, which are always allocated.
//  3. Null and missing values have no meaning in this package. Callers handle them.
package numeric
