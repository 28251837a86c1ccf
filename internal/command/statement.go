package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/session"
)

// CheckSameAPI returns an error if the API parameters of a request differ from the parameters of
// the first command of its cursor or transaction. what names that command in the message.
func CheckSameAPI(r *Request, first session.API, what string) error {
	if got := r.Generic.API(); got != first {
		return mongoerr.New(mongoerr.APIMismatchError,
			"API parameter mismatch: %s used params %s, the %s used %s", r.Def.Name, got, what, first)
	}
	return nil
}

// CheckStrictStatement returns an error if the request sets apiStrict and a statement has a field
// that is not in the stable API. name is the argument that holds the statements.
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

// StableAPI returns the generic arguments whose apiStrict applies to the operators, stages and
// sorts of the request. For an explained command these are the arguments of explain. The fields of
// the explained command are checked with its own apiStrict.
func (r *Request) StableAPI() *Generic {
	if r.Explain != nil {
		return &r.Explain.Generic
	}
	return &r.Generic
}
