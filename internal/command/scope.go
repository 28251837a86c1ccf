package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/table"
)

// checkStrictSort returns an error if a sort uses a $meta keyword that the stable API does not
// have.
func checkStrictSort(sort bsonx.Doc, vars *expr.Vars) error {
	for it := sort.Iter(); it.Next(); {
		if it.Value().Type != bsonx.TypeDocument {
			continue
		}
		if kind := it.Value().Doc().Lookup("$meta"); kind.Type == bsonx.TypeString {
			if err := vars.CheckMeta(kind.Str()); err != nil {
				return err
			}
		}
	}
	return nil
}

// NewScope returns the scope for the expressions of a command, with the variables of its let.
func NewScope(req *Request) (read.Scope, error) {
	vars := req.BaseVars()
	if req.StableAPI().APIStrict == BoolTrue {
		vars = vars.WithStableAPI()
		if err := checkStrictSort(req.Doc("sort"), vars); err != nil {
			return read.Scope{}, err
		}
	}
	vars, err := vars.WithLet(req.Doc("let"), req.Now)
	return read.Scope{
		Now: req.Now, Vars: vars, Engine: &req.Service.Read,
		Counts: !req.Def.UncountedOperators, Writes: req.Def.AlwaysWrites(),
	}, err
}

// CollatedScope returns the scope of a request with its argument collation, or else with the
// collation of c, which may be nil.
func CollatedScope(r *Request, c *table.Collection) (read.Scope, error) {
	sc, err := NewScope(r)
	if err != nil {
		return read.Scope{}, err
	}
	return sc.Collated(r.Get("collation"), c)
}
