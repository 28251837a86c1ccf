package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/session"
)

// CheckSameAPI refuses a getMore, or a later command of a transaction, whose API parameters
// differ from the first command's.
func CheckSameAPI(r *Request, first session.API, what string) error {
	if got := r.Generic.API(); got != first {
		return mongoerr.New(mongoerr.APIMismatchError, "API parameter mismatch: %s used params %s, the %s used %s", r.Def.Name, got, what, first)
	}
	return nil
}

// CheckStrictStatement refuses the fields of a statement that are outside the stable API under
// apiStrict. The statements are in the argument name.
func CheckStrictStatement(r *Request, name string, statement bsonx.Doc) error {
	if r.Generic.APIStrict != BoolTrue {
		return nil
	}
	fields := r.Def.Fields[fieldIndex(r.Def.Fields, []byte(name))].Fields
	for it := statement.Iter(); it.Next(); {
		if i := fieldIndex(fields, it.Key()); i >= 0 {
			if err := CheckStrictField(&fields[i], &r.Generic); err != nil {
				return err
			}
		}
	}
	return nil
}

// StableAPI returns the arguments that decide what queries, pipelines and sorts may use. A command
// that is explained has its own for its fields, and those of explain for these.
func (r *Request) StableAPI() *Generic {
	if r.Explain != nil {
		return &r.Explain.Generic
	}
	return &r.Generic
}
