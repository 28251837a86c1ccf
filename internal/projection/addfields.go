package projection

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// ParseAddFields compiles the specification of $addFields. Unlike in $project, numbers and bools
// are values. A nested document that is not an expression adds fields to the document at its path.
func ParseAddFields(spec bsonx.Doc, opts Options) (*Projection, error) {
	// Errors in the paths are reported before errors in the expressions.
	paths := adder{spec: spec, opts: &opts, root: &node{}, pathsOnly: true}
	if err := paths.all(); err != nil {
		return nil, err
	}
	a := adder{spec: spec, opts: &opts, root: &node{}}
	if err := a.all(); err != nil {
		return nil, err
	}
	return newProjection(addition, spec, a.root, &opts)
}

// adder adds the fields of a specification to root, or only their paths, without the expressions.
type adder struct {
	spec      bsonx.Doc
	opts      *Options
	root      *node
	pathsOnly bool
	added     []string // the paths so far
}

func (a *adder) all() error {
	for it := a.spec.Iter(); it.Next(); {
		if err := a.add(string(it.Key()), it.Value(), 0); err != nil {
			return err
		}
	}
	return nil
}

func (a *adder) add(path string, v bsonx.Value, depth int) error {
	if depth > limits.DocumentDepth {
		return mongoerr.New(mongoerr.Overflow,
			"specification exceeds the maximum nesting depth of %d", limits.DocumentDepth)
	}
	if strings.HasPrefix(path, "$") {
		if _, err := expr.SplitFieldPath(path); err != nil {
			return err
		}
	}
	if v.Type == bsonx.TypeDocument && !v.Doc().IsEmpty() && (!isOperatorDoc(v.Doc()) || v.Doc().Len() > 1) {
		return a.nested(path, v.Doc(), depth)
	}
	if err := a.opts.Vars.Scripts().Running.Err(); err != nil {
		return err
	}
	var e expr.Expr
	if !a.pathsOnly {
		var err error
		if e, err = expr.Parse(v, a.opts.Vars); err != nil {
			return err
		}
	}
	parts, err := expr.SplitFieldPath(path)
	if err != nil {
		return err
	}
	counting := a.opts
	if a.pathsOnly {
		counting = nil // the paths of this pass are discarded, so their memory is not counted
	}
	err = a.root.add(path, parts, field{action: compute, value: e}, counting)
	if mongoerr.CodeOf(err) == mongoerr.ExceededMemoryLimit {
		return err
	}
	if err != nil {
		return mongoerr.New(40176, "specification contains two conflicting paths. Cannot specify both '%s' and '%s': %s",
			path, a.conflicting(path), bsonx.FormatShell(bsonx.Document(a.spec)))
	}
	a.added = append(a.added, path)
	return nil
}

// nested adds the fields of a document inside the specification.
func (a *adder) nested(path string, d bsonx.Doc, depth int) error {
	for it := d.Iter(); it.Next(); {
		name := string(it.Key())
		if strings.HasPrefix(name, "$") {
			return mongoerr.New(40181, "an expression specification must contain exactly one field, the name of the expression. "+
				"Found %d fields in %s, while parsing object %s", d.Len(), bsonx.FormatShell(bsonx.Document(d)),
				bsonx.FormatShell(bsonx.Document(a.spec)))
		}
		if strings.Contains(name, ".") {
			return mongoerr.New(40183, "cannot use dotted field name '%s' in a sub object: %s", name,
				bsonx.FormatShell(bsonx.Document(a.spec)))
		}
		if err := a.add(path+"."+name, it.Value(), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// conflicting returns an earlier path that equals path, contains it or is contained in it. It
// returns "" if there is no such path.
func (a *adder) conflicting(path string) string {
	for _, earlier := range a.added {
		if path == earlier || strings.HasPrefix(path, earlier+".") || strings.HasPrefix(earlier, path+".") {
			return earlier
		}
	}
	return ""
}

func isOperatorDoc(d bsonx.Doc) bool { return len(d.First().Key) > 0 && d.First().Key[0] == '$' }

// UnsetPaths returns the paths in the argument of $unset: a field path or an array of field paths.
func UnsetPaths(arg bsonx.Value) ([]string, error) {
	var values []bsonx.Value
	switch arg.Type {
	case bsonx.TypeString:
		values = []bsonx.Value{arg}
	case bsonx.TypeArray:
		values = arg.Doc().Values()
	default:
		return nil, mongoerr.New(31002, "$unset specification must be a string or an array")
	}
	if len(values) == 0 {
		return nil, mongoerr.New(31119, "$unset specification must be a string or an array with at least one field")
	}
	var paths []string
	for _, v := range values {
		if v.Type != bsonx.TypeString {
			return nil, mongoerr.New(31120, "$unset specification must be a string or an array containing only string values")
		}
		paths = append(paths, v.Str())
	}
	return paths, nil
}

// ParseUnset compiles the paths of $unset.
func ParseUnset(paths []string, opts Options) (*Projection, error) {
	p := &parser{opts: opts, root: &node{}}
	spec := bsonx.NewBuilder(nil)
	spec.StartDoc()
	for _, path := range paths {
		switch {
		case strings.Contains(path, ".$."):
			return nil, positionInside()
		case strings.HasSuffix(path, ".$"):
			return nil, positionInPipeline()
		}
		if err := p.exclude(path, path); err != nil {
			return nil, err
		}
		spec.Bool(path, false)
	}
	spec.End()
	return newProjection(exclusion, spec.Bytes(), p.root, &p.opts)
}
