package projection

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// ParseAddFields compiles the specification of $addFields. Numbers and bools are values here; a nested document
// that is no expression adds to the document at its path.
func ParseAddFields(spec bsonx.Doc, opts Options) (*Projection, error) {
	// Mistakes in the paths count before those in the expressions.
	if err := (&node{}).additions(spec, &opts, true); err != nil {
		return nil, err
	}
	root := &node{}
	if err := root.additions(spec, &opts, false); err != nil {
		return nil, err
	}
	return newProjection(addition, spec, root, opts.Now), nil
}

// additions adds all fields of a specification; for the paths alone, without their expressions.
func (n *node) additions(spec bsonx.Doc, opts *Options, pathsOnly bool) error {
	for it := spec.Iter(); it.Next(); {
		if err := n.addition(string(it.Key()), it.Value(), opts, 0, pathsOnly); err != nil {
			return err
		}
	}
	return nil
}

// maxNesting bounds nested specifications; BSON from a client cannot be deeper.
const maxNesting = 200

func (n *node) addition(path string, v bsonx.Value, opts *Options, depth int, pathsOnly bool) error {
	if depth > maxNesting {
		return mongoerr.New(mongoerr.Overflow, "specification exceeds the maximum nesting depth of %d", maxNesting)
	}
	if strings.HasPrefix(path, "$") {
		return mongoerr.New(16410, "FieldPath field names may not start with '$'. Consider using $getField or $setField.")
	}
	if v.Type == bsonx.TypeDocument && isOperatorDoc(v.Doc()) && v.Doc().Len() > 1 {
		return mongoerr.New(40181, "Invalid $addFields :: caused by :: an expression specification must contain exactly one field, found %d", v.Doc().Len())
	}
	if v.Type == bsonx.TypeDocument && !v.Doc().IsEmpty() && !isOperatorDoc(v.Doc()) {
		for it := v.Doc().Iter(); it.Next(); {
			name := string(it.Key())
			if strings.HasPrefix(name, "$") {
				return mongoerr.New(40181, "Invalid $addFields :: caused by :: an expression specification must contain exactly one field, found %d", v.Doc().Len())
			}
			if strings.Contains(name, ".") {
				return mongoerr.New(40183, "cannot use dotted field name '%s' in a sub object", name)
			}
			if err := n.addition(path+"."+name, it.Value(), opts, depth+1, pathsOnly); err != nil {
				return err
			}
		}
		return nil
	}
	var e expr.Expr
	if !pathsOnly {
		var err error
		if e, err = expr.Parse(v, opts.Vars); err != nil {
			return err
		}
	}
	parts, err := expr.SplitFieldPath(path)
	if err != nil {
		return err
	}
	if err := n.add(path, parts, field{action: compute, value: e}); err != nil {
		return mongoerr.New(40176, "Invalid $addFields :: caused by :: specification contains two conflicting paths: %s", path)
	}
	return nil
}

func isOperatorDoc(d bsonx.Doc) bool { return len(d.First().Key) > 0 && d.First().Key[0] == '$' }

// ParseUnset compiles the argument of $unset: a field path or an array of them.
func ParseUnset(arg bsonx.Value) (*Projection, error) {
	var paths []bsonx.Value
	switch arg.Type {
	case bsonx.TypeString:
		paths = []bsonx.Value{arg}
	case bsonx.TypeArray:
		paths = arg.Doc().Values()
	default:
		return nil, mongoerr.New(31002, "$unset specification must be a string or an array")
	}
	if len(paths) == 0 {
		return nil, mongoerr.New(31119, "$unset specification must be a string or an array with at least one field")
	}
	p := &parser{root: &node{}}
	spec := bsonx.NewBuilder(nil)
	spec.StartDoc()
	for _, path := range paths {
		if path.Type != bsonx.TypeString {
			return nil, mongoerr.New(31120, "$unset specification must be a string or an array containing only string values")
		}
		if err := p.exclude(path.Str()); err != nil {
			return nil, err
		}
		spec.Bool(path.Str(), false)
	}
	spec.End()
	return newProjection(exclusion, spec.Bytes(), p.root, p.opts.Now), nil
}
