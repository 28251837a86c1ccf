package update

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// pullOp is $pull or $pullAll: it removes the elements that match.
type pullOp struct {
	ignoresMissing
	matches func(a *applier, v bsonx.Value) (bool, error)
}

// parsePull compiles three forms. A plain value removes the elements that equal it. A condition
// like {$gt: 1} or a regular expression removes the elements that satisfy it. Any other document
// removes the embedded documents that match it as a query.
func parsePull(p *parser, _ string, arg bsonx.Value) (operator, error) {
	op := &pullOp{}
	var err error
	switch {
	case arg.Type == bsonx.TypeDocument && !filter.IsCondition(arg.Doc().First().Key):
		op.matches, err = matchObjects(&p.opts, arg.Doc())
	case arg.Type == bsonx.TypeDocument || arg.Type == bsonx.TypeRegex:
		op.matches, err = matchValues(&p.opts, arg)
	default:
		op.matches = matchAny([]bsonx.Value{arg}, p.opts.compare())
	}
	return op, err
}

func matchObjects(opts *Options, query bsonx.Doc) (func(a *applier, v bsonx.Value) (bool, error), error) {
	m, err := opts.parseFilter(query)
	if err != nil {
		return nil, err
	}
	return func(_ *applier, v bsonx.Value) (bool, error) {
		if v.Type != bsonx.TypeDocument {
			return false, nil
		}
		return m.Match(v.Doc())
	}, nil
}

// pulledField is the name of the field in which a condition sees an array element.
const pulledField = "v"

func matchValues(opts *Options, condition bsonx.Value) (func(a *applier, v bsonx.Value) (bool, error), error) {
	m, err := opts.parseFilter(wrap(nil, pulledField, condition))
	if err != nil {
		return nil, err
	}
	return func(a *applier, v bsonx.Value) (bool, error) {
		a.wrap = wrap(a.wrap[:0], pulledField, v)
		return m.Match(a.wrap)
	}, nil
}

func matchAny(values []bsonx.Value, compare func(a, b bsonx.Value) int) func(a *applier, v bsonx.Value) (bool, error) {
	return func(a *applier, v bsonx.Value) (bool, error) {
		if err := a.did(compareWork * len(values)); err != nil {
			return false, err
		}
		return contains(values, v, compare), nil
	}
}

func (op *pullOp) existing(a *applier, v bsonx.Value) (change, error) {
	if v.Type != bsonx.TypeArray {
		return change{}, mongoerr.New(mongoerr.BadValue, "Cannot apply $pull to a non-array value")
	}
	all := v.Doc().Values()
	kept := make([]bsonx.Value, 0, len(all))
	for _, e := range all {
		if err := a.did(interrupt.Step); err != nil {
			return change{}, err
		}
		matched, err := op.matches(a, e)
		if err != nil {
			return change{}, err
		}
		if !matched {
			kept = append(kept, e)
		}
	}
	if len(kept) == len(all) {
		return change{}, nil
	}
	return change{kind: changeSet, value: arrayOf(kept), shrunk: true}, nil
}
