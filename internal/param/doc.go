// Package param implements the server parameters that getParameter reads and setParameter changes.
//
// A Param is a name with a getter and, if it can change at run time, a setter. Params is the
// registry of all parameters. Int, Double, Bool and Enum return parameters that hold a value. They
// check each new value as MongoDB does, and call a function with it. The package knows neither the
// server nor the commands: the package that owns a setting registers its parameter.
package param
