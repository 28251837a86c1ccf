package filter

import (
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expressions"
)

// TestFactor checks Absorb and Factor on disjunctions.
func TestFactor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{`{"$or":[{"a":1,"b":2},{"a":1,"c":3}]}`, `{"a":1,"$or":[{"b":2},{"c":3}]}`},
		{`{"$or":[{"a":1,"b":2},{"a":1,"b":3}]}`, `{"a":1,"b":{"$in":[2,3]}}`},
		{`{"$or":[{"a":1},{"a":1,"b":2}]}`, `{"a":1}`},
		{`{"$or":[{"a":1},{"a":1,"b":2},{"c":3}]}`, `{"$or":[{"a":1},{"c":3}]}`},
		{`{"$or":[{"a":1,"b":2,"c":3},{"a":1,"b":2,"d":{"$gt":3}}]}`, `{"a":1,"b":2,"$or":[{"c":3},{"d":{"$gt":3}}]}`},
		{`{"$or":[{"a":1,"b":2},{"a":2,"b":3}]}`, `{"$or":[{"a":1,"b":2},{"a":2,"b":3}]}`},
		{`{"$or":[{"a":1},{"b":2}]}`, `{"$or":[{"a":1},{"b":2}]}`},
		{`{"$or":[{"a":1,"$expr":{"$gt":["$a","$b"]}},{"c":1,"$expr":{"$gt":["$a","$b"]}}]}`, `{"$or":[{"a":1,"$expr":{"$gt":["$a","$b"]}},{"c":1,"$expr":{"$gt":["$a","$b"]}}]}`},
	} {
		f, want := parseFilter(t, c.in, Options{Vars: expressions.Scope(), AllowExpr: true}).
			Normalize(), parseFilter(t, c.want, Options{Vars: expressions.Scope(), AllowExpr: true}).Normalize()
		o, ok := f.Root.(*Or)
		if !ok {
			t.Fatalf("%s is no disjunction", c.in)
		}
		got := f.Absorb(o)
		if left, ok := got.(*Or); ok {
			got = f.Factor(left)
		}
		if !identity(got).Equal(identity(want.Root)) {
			t.Errorf("%s: got %s, want %s", c.in, bsonx.FormatShell(bsonx.Document(identity(got))), c.want)
		}
	}
}
