package update

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// currentDateOp is $currentDate.
type currentDateOp struct {
	creates
	timestamp bool
}

func parseCurrentDate(_ *parser, _ string, arg bsonx.Value) (operator, error) {
	if arg.Type == bsonx.TypeBool { // false means a date too
		return &currentDateOp{}, nil
	}
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(mongoerr.BadValue, "%s is not valid type for $currentDate. Please use a boolean ('true') "+
			"or a $type expression ({$type: 'timestamp/date'}).", arg.Type)
	}
	op, found := &currentDateOp{}, false
	for it := arg.Doc().Iter(); it.Next(); {
		if string(it.Key()) != "$type" {
			return nil, mongoerr.New(mongoerr.BadValue, "Unrecognized $currentDate option: %s", it.Key())
		}
		name := ""
		if v := it.Value(); v.Type == bsonx.TypeString {
			name = v.Str()
		}
		if name != "date" && name != "timestamp" {
			return nil, badCurrentDate()
		}
		op.timestamp, found = name == "timestamp", true
	}
	if !found {
		return nil, badCurrentDate()
	}
	return op, nil
}

func badCurrentDate() error {
	return mongoerr.New(mongoerr.BadValue,
		"The '$type' string field is required to be 'date' or 'timestamp': {$currentDate: {field : {$type: 'date'}}}")
}

func (op *currentDateOp) existing(a *applier, _ bsonx.Value) (change, error) {
	return set(op.now(&a.env)), nil
}

func (op *currentDateOp) missing(a *applier) (bsonx.Value, bool, error) {
	return op.now(&a.env), true, nil
}

func (op *currentDateOp) now(env *Env) bsonx.Value {
	if op.timestamp {
		return bsonx.Timestamp(env.timestamp())
	}
	return bsonx.Date(env.Now.UnixMilli())
}
