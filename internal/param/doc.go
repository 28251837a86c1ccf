// Package param has the server parameters that getParameter and setParameter read and change.
//
// A Param is a name with a getter and, if it can change at run time, a setter. Params is the
// registry of all parameters. Int, Double, Bool and Enum return parameters that hold a value, check
// each new one as MongoDB does, and tell their owner. The package knows neither the server nor the
// commands: whoever owns a setting registers its parameter.
package param
