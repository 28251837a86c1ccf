package engine

import (
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// MongoDB's error codes for invalid stored values.
const (
	codeStoredName  = mongoerr.Code(10209)
	codeStoredValue = mongoerr.Code(10210)
)

// storedScripts returns the documents of the database's collection system.js, or nil if the options
// do not give access to it.
func storedScripts(o *js.Options) ([]bsonx.Doc, error) {
	if o.Stored == nil {
		return nil, nil
	}
	return o.Stored()
}

// define defines the stored values as global variables. Stored code becomes a function.
func (e *engine) define(stored []bsonx.Doc) error {
	for _, doc := range stored {
		name, v := doc.Lookup("_id"), doc.Lookup("value")
		switch {
		case name.Type != bsonx.TypeString:
			return mongoerr.New(codeStoredName, "name has to be a string: %s", bsonx.FormatShell(bsonx.Document(doc)))
		case v.IsMissing():
			return mongoerr.New(codeStoredValue, "value has to be set: %s", bsonx.FormatShell(bsonx.Document(doc)))
		}
		var err error
		if v.Type == bsonx.TypeCode {
			err = e.defineFunction(name.Str(), v.Str())
		} else {
			err = e.run(func() error { return e.rt.Set(name.Str(), e.convert.toJS(v)) })
		}
		if err != nil {
			var user *mongoerr.Error
			if errors.As(asFailure(err), &user) {
				return user.Prefix("system.js, %s: ", name.Str())
			}
			return err
		}
	}
	return nil
}

func (e *engine) defineFunction(name, code string) error {
	source, err := functionSource(code)
	if err != nil {
		return err
	}
	return e.run(func() error {
		fn, err := e.runSource(source)
		if err != nil {
			return err
		}
		return e.rt.Set(name, fn)
	})
}
