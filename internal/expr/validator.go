package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// CheckInValidator returns an error if an expression contains an operator that is not repeatable or
// runs JavaScript. A collection's validator may not use such operators.
func (t *Table) CheckInValidator(v bsonx.Value) error {
	if t == nil || v.Type != bsonx.TypeDocument && v.Type != bsonx.TypeArray {
		return nil
	}
	for it := v.Doc().Iter(); it.Next(); {
		def := t.byName[string(it.Key())]
		if def != nil && def.Verbatim {
			continue
		}
		if def != nil && !def.Depends.Repeatable() {
			return def.refusedInValidator()
		}
		if err := t.CheckInValidator(it.Value()); err != nil {
			return err
		}
	}
	return nil
}

func (d *Definition) refusedInValidator() error {
	if d.NotInValidator != nil {
		return d.NotInValidator
	}
	return mongoerr.New(mongoerr.QueryFeatureNotAllowed, "%s is not allowed inside a validator", d.Name)
}
