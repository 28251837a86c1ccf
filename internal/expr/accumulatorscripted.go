package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Scripted are the functions of $accumulator, in JavaScript.
type Scripted struct {
	// Init gets the initial arguments and returns the state; Accumulate gets the state and the arguments of one document
	// and returns the state; Merge gets two states and returns one; Finalize turns the state into the result.
	Init, Accumulate, Merge, Finalize string
}

// newScripted starts $accumulator for a group with the arguments of its init function, an array. Add gets arrays too: the
// arguments of the accumulate function for one document.
func newScripted(*Scripted, bsonx.Value) (Accumulator, error) {
	return nil, mongoerr.New(mongoerr.NotImplemented, "the accumulator $accumulator is not implemented")
}

func parseScripted(name string, arg bsonx.Value, vars *Vars) (*Accumulation, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(4544703, "$accumulator expects an object as an argument; found: %s", arg.Type)
	}
	s := &Scripted{}
	out := &Accumulation{Name: name}
	lang := false
	for it := arg.Doc().Iter(); it.Next(); {
		v := it.Value()
		var err error
		switch key := string(it.Key()); key {
		case "init":
			s.Init, err = scriptOf(key, v)
		case "accumulate":
			s.Accumulate, err = scriptOf(key, v)
		case "merge":
			s.Merge, err = scriptOf(key, v)
		case "finalize":
			s.Finalize, err = scriptOf(key, v)
		case "initArgs":
			out.Init, err = Parse(v, vars)
		case "accumulateArgs":
			out.Arg, err = Parse(v, vars)
		case "lang":
			lang = true
			if v.Type != bsonx.TypeString || v.Str() != "js" {
				err = mongoerr.New(4544705, "$accumulator only supports lang: 'js', but found: %s", Show(v))
			}
		default:
			err = mongoerr.New(4544706, "$accumulator got an unexpected field: %s", key)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := checkScripted(s, out.Arg, lang); err != nil {
		return nil, err
	}
	if out.Init == nil {
		out.Init = &Const{bsonx.NewArray()}
	}
	out.start = func(init bsonx.Value) (Accumulator, error) { return newScripted(s, init) }
	return out, nil
}

// scriptOf returns the text of a function, which may be a string or code.
func scriptOf(field string, v bsonx.Value) (string, error) {
	if v.Type != bsonx.TypeString && v.Type != bsonx.TypeCode {
		return "", mongoerr.New(4544701, "$accumulator '%s' argument must be a String or Code, but found type: %s", field, v.Type)
	}
	return v.Str(), nil
}

func checkScripted(s *Scripted, args Expr, lang bool) error {
	missing := func(code mongoerr.Code, name string) error {
		return mongoerr.New(code, "$accumulator missing required argument '%s'", name)
	}
	switch {
	case s.Init == "":
		return missing(4544707, "init")
	case s.Accumulate == "":
		return missing(4544708, "accumulate")
	case args == nil:
		return missing(4544709, "accumulateArgs")
	case s.Merge == "":
		return missing(4544710, "merge")
	case !lang:
		return missing(4544711, "lang")
	}
	return nil
}
