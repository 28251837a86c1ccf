package pipeline

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/document"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

func fillDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$fill", Parse: parseFill,
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
		Properties: parsing.OfDocuments(), Inside: parsing.InsideExpressions,
	}
}

// parseFill compiles $fill into two stages: $setWindowFields for the fields with a method, and
// $addFields for the fields with a value.
func parseFill(arg bsonx.Value, opts parsing.Options) ([]parsing.Stage, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(mongoerr.FailedToParse,
			"The $fill stage specification must be an object, found %s", arg.Type)
	}
	spec, err := parsing.Fields("$fill", arg.Doc(), "partitionBy", "partitionByFields", "sortBy", "output")
	if err != nil {
		return nil, err
	}
	partition, fields, sortBy, output := spec[0], spec[1], spec[2], spec[3]
	if err := checkFill(partition, fields, sortBy, output); err != nil {
		return nil, err
	}
	if !fields.IsNull() {
		if partition, err = partitionOf(fields, opts); err != nil {
			return nil, err
		}
	}
	windows, values, err := fillOutput(output.Doc(), opts.Vars.Scripts().Running)
	if err != nil {
		return nil, err
	}
	var stages []parsing.Stage
	if !windows.IsEmpty() {
		stages, err = parseSetWindowFields(bsonx.Document(fillWindows(partition, sortBy, windows)), opts)
	} else {
		err = checkUnusedPartition(partition, opts)
	}
	if err != nil || values.IsEmpty() {
		return stages, err
	}
	add, err := addFieldsStage(values, opts)
	return append(stages, add...), err
}

func checkFill(partition, fields, sortBy, output bsonx.Value) error {
	if err := parsing.CheckObject("$fill.output", output, true); err != nil {
		return err
	}
	if err := parsing.CheckObject("$fill.sortBy", sortBy, false); err != nil {
		return err
	}
	switch {
	case !partition.IsMissing() && partition.Type != bsonx.TypeDocument && partition.Type != bsonx.TypeString:
		return mongoerr.New(mongoerr.TypeMismatch, "BSON field '$fill.partitionBy' is the wrong type '%s', expected types '[object, string]'", partition.Type)
	case output.Doc().IsEmpty():
		return mongoerr.New(6050203, "The output field in '$fill' must contain at least one field")
	case !partition.IsNull() && !fields.IsNull():
		return mongoerr.New(6050204, "Maximum one of 'partitionBy' and 'partitionByFields can be specified in '$fill'")
	}
	return nil
}

// checkUnusedPartition reports errors in a partition expression that the compiled stages do not
// use.
func checkUnusedPartition(partition bsonx.Value, opts parsing.Options) error {
	if partition.Type == bsonx.TypeString && !strings.HasPrefix(partition.Str(), "$") {
		return mongoerr.New(16873, "FieldPath '%s' doesn't start with $", partition.Str())
	}
	_, err := expr.Parse(partition, opts.Vars)
	return err
}

// partitionOf returns the expression of an object with the given fields, for $setWindowFields to
// partition by.
func partitionOf(fields bsonx.Value, opts parsing.Options) (bsonx.Value, error) {
	running := opts.Vars.Scripts().Running
	paths, err := parsing.Paths("$fill.partitionByFields", fields, running)
	if err != nil {
		return bsonx.Missing, err
	}
	tree := &document.Tree{Value: document.NoValue}
	values := make([]bsonx.Value, len(paths))
	var meter interrupt.Meter
	for i, path := range paths {
		if err := meter.Did(parsing.PathWork, running); err != nil {
			return bsonx.Missing, err
		}
		values[i] = bsonx.String("$" + strings.Join(path, "."))
		tree.Add(path, i)
	}
	doc, err := document.NewWriter(values).Document(tree, bsonx.Empty, running)
	return bsonx.Document(doc), err
}

// fillOutput divides the output of $fill into the output of $setWindowFields (windows) and the
// fields of $addFields (values).
func fillOutput(output bsonx.Doc, running *interrupt.Running) (windows, values bsonx.Doc, err error) {
	w, v := bsonx.NewBuilder(nil), bsonx.NewBuilder(nil)
	w.StartDoc()
	v.StartDoc()
	var meter interrupt.Meter
	for it := output.Iter(); it.Next(); {
		if err := meter.Did(2*parsing.PathWork+len(it.Value().Data), running); err != nil {
			return nil, nil, err
		}
		name := string(it.Key())
		if it.Value().Type != bsonx.TypeDocument {
			return nil, nil, mongoerr.New(6050200, "The '%s' field of 'output' must be an object", name)
		}
		spec, err := parsing.Fields("$fill", it.Value().Doc(), "method", "value")
		if err != nil {
			return nil, nil, err
		}
		method, value := spec[0], spec[1]
		switch {
		case !method.IsNull() && method.Type != bsonx.TypeString:
			return nil, nil, mongoerr.New(mongoerr.TypeMismatch, "BSON field '$fill.method' is the wrong type '%s', expected type 'string'", method.Type)
		case !method.IsNull() && !value.IsMissing():
			return nil, nil, mongoerr.New(6050201, "Each fill output specification must have exactly one of 'method' or 'value' fields")
		case !value.IsMissing():
			v.Doc(name, bsonx.NewDoc("$ifNull", bsonx.NewArray("$"+name, value)))
		case !method.IsNull():
			function, ok := map[string]string{"locf": "$locf", "linear": "$linearFill"}[method.Str()]
			if !ok {
				return nil, nil, mongoerr.New(6050202, "Method must be either locf or linear")
			}
			w.Doc(name, bsonx.NewDoc(function, "$"+name))
		}
	}
	w.End()
	v.End()
	return w.Bytes(), v.Bytes(), nil
}

func fillWindows(partition, sortBy bsonx.Value, output bsonx.Doc) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for _, e := range []struct {
		name  string
		value bsonx.Value
	}{{"partitionBy", partition}, {"sortBy", sortBy}} {
		if !e.value.IsMissing() {
			b.Value(e.name, e.value)
		}
	}
	b.Doc("output", output)
	b.End()
	return b.Bytes()
}
