// Package js gives JavaScript to the databases of a program that imports it:
//
//	import _ "github.com/sheafdb/sheaf/js"
//
// The query operator $where, the expression $function, the accumulator $accumulator and the command
// mapReduce need JavaScript. Without the import they fail with MongoDB's errors for a server whose
// JavaScript is disabled, and everything else works. The import makes a stripped program about 9 MB
// larger. The program sheaf imports this package.
package js

import (
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/js/engine"
)

func init() { //nolint:gochecknoinits // importing the package selects JavaScript
	js.Use(engine.Engine{})
}
