package main

import (
	"slices"

	"go.mongodb.org/mongo-driver/bson"
)

// unordering are the stages whose results have no order of their own, or ties in it.
var unordering = []string{"$group", "$sortByCount", "$sort", "$densify", "$setWindowFields", "$fill", "$bucketAuto"}

// fixedOrder are stages that sort their input by all that it is.
var fixedOrder = bson.A{
	op("$group", bson.D{{Key: "_id", Value: nil}, {Key: "all", Value: op("$push", "$$ROOT")}}),
	op("$project", bson.D{{Key: "all", Value: sortedArray("$all")}}),
	op("$unwind", "$all"),
	op("$replaceRoot", bson.D{{Key: "newRoot", Value: "$all"}}),
}

func sortedArray(v any) bson.D { return op("$sortArray", fields("input", v, "sortBy", int32(1))) }

// settled returns stages with one order fixed behind every stage that leaves it open.
func settled(stages bson.A) bson.A {
	var out bson.A
	for i, stage := range stages {
		out = append(out, settledWithin(stage))
		if fields := arraysOf(stage); len(fields) > 0 {
			out = append(out, op("$set", fields))
		}
		if slices.Contains(unordering, stageName(stage)) && i < len(stages)-1 {
			out = append(out, fixedOrder...)
		}
	}
	return out
}

// settledWithin settles the pipelines inside a stage: those whose results become arrays to their end.
func settledWithin(stage any) any {
	doc, _ := stage.(bson.D)
	name := stageName(stage)
	spec, _ := lookup(doc, name).(bson.D)
	out := slices.Clone(spec)
	for i, e := range spec {
		inner, isPipeline := e.Value.(bson.A)
		switch {
		case !isPipeline:
		case name == "$facet":
			out[i].Value = slices.Concat(settled(inner), fixedOrder)
		case e.Key == "pipeline" && name == "$lookup":
			out[i].Value = slices.Concat(settled(inner), fixedOrder)
		case e.Key == "pipeline" && name == "$unionWith":
			out[i].Value = settled(inner)
		}
	}
	if spec == nil {
		return stage
	}
	return op(name, out)
}

// arraysOf returns assignments that sort the arrays without an order that a stage makes.
func arraysOf(stage any) bson.D {
	doc, _ := stage.(bson.D)
	name := stageName(stage)
	spec, _ := lookup(doc, name).(bson.D)
	switch name {
	case "$graphLookup":
		as, _ := lookup(spec, "as").(string)
		return bson.D{{Key: as, Value: sortedArray("$" + as)}}
	case "$bucketAuto", "$setWindowFields", "$bucket":
		spec, _ = lookup(spec, "output").(bson.D)
	case "$group":
	default:
		return nil
	}
	var out bson.D
	for _, e := range spec {
		if acc, _ := e.Value.(bson.D); hasField(acc, "$addToSet") {
			out = append(out, bson.E{Key: e.Key, Value: sortedArray("$" + e.Key)})
		}
	}
	return out
}
