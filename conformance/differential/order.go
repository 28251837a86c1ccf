package main

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/bson"
)

// openOrder is the difference that isOpenOrder recognises.
var openOrder = known{
	Name:   "order that a stage leaves open",
	Reason: "the groups of a $group, and documents with equal sort keys, come in any order (MongoDB's sort of more than 16 is not stable); up to the stage both servers answer the same in another order, and with one order fixed behind it the same at last",
}

// unordering are the stages whose results have no order of their own, or ties in it.
var unordering = []string{"$group", "$sortByCount", "$sort", "$densify", "$setWindowFields", "$fill"}

// fixedOrder are stages that sort their input by all that it is.
var fixedOrder = bson.A{
	op("$group", bson.D{{Key: "_id", Value: nil}, {Key: "all", Value: op("$push", "$$ROOT")}}),
	op("$project", bson.D{{Key: "all", Value: op("$sortArray", fields("input", "$all", "sortBy", int32(1)))}}),
	op("$unwind", "$all"),
	op("$replaceRoot", bson.D{{Key: "newRoot", Value: "$all"}}),
}

// isOpenOrder reports whether the replies to a pipeline differ by the order in which some stage returned its results alone.
func (p *pair) isOpenOrder(ctx context.Context, question bson.D) bool {
	stages, _ := lookup(question, "pipeline").(bson.A)
	for i := range stages {
		if !slices.Contains(unordering, stageName(stages[i])) || i == len(stages)-1 {
			continue
		}
		before, fixed := slices.Clone(question), slices.Clone(question)
		before[1].Value = stages[:i+1]
		fixed[1].Value = slices.Concat(stages[:i+1], fixedOrder, stages[i+1:])
		if p.alike(ctx, before) && p.alike(ctx, fixed) {
			return true
		}
	}
	return false
}

// alike reports whether both servers answer a pipeline with the same documents.
func (p *pair) alike(ctx context.Context, question bson.D) bool {
	d, err := p.compare(ctx, question)
	return err == nil && isOK(d.A) && d.equal(false)
}
