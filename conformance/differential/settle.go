package main

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/bson"
)

// settlement decides whether two different answers are both right. Each settlement knows one point
// that the manual leaves open, or in which MongoDB 9.0 differs from 8.0. Most settlements send both
// servers an equivalent command without that point.
type settlement struct {
	Name   string
	Reason string
	Holds  func(p *pair, ctx context.Context, c *asked) bool
}

// asked is a command with the two different answers.
type asked struct {
	cmd   bson.D
	whole bson.D // the command with the pipelines of views in front of its own pipeline
	*difference
}

// settlements lists the settlements in the order in which they are tried.
var settlements = slices.Concat([]settlement{
	{
		Name:   "index that one server has",
		Reason: "with -scan-b only server A has the index that refuses a document (171, 16746); without it both servers answer the same",
		Holds:  (*pair).agreesWithoutIndexes,
	},
	{
		Name:   "order in which a statement writes documents",
		Reason: "a statement that writes several documents stops at the first that fails, and the manual gives them no order; one by one both servers write, or refuse, the same documents, and each left a part of them written",
		Holds:  (*pair).writesOneByOne,
	},
	{
		Name:   "document that an index or a sort is refused for",
		Reason: "the error is that of the first document, and a collection has no order; alone, each document has one error on both servers",
		Holds:  (*pair).refusesOneByOne,
	},
	{
		Name:   "order of an upserted document's fields",
		Reason: "MongoDB keeps the equalities of an upsert's query in a hash table: their order in the new document changes from call to call; all other documents are equal with their order",
		Holds:  upsertsAlike,
	},
	{
		Name:   "fields that a $merge inserts where a unique index refused it at first",
		Reason: "such documents are made by $set, which processes fields in lexicographic order since 5.0; all others are equal as they stand",
		Holds:  mergesAlike,
	},
	{
		Name:   "one of equal numbers",
		Reason: "of numbers that are equal though their types differ, any may bound a bucket of $bucketAuto or be its minimum or maximum",
		Holds:  func(_ *pair, _ context.Context, c *asked) bool { return hasEqualNumbers(c.whole, c.difference) },
	},
	{
		Name:   "last digits",
		Reason: "the manual promises no number of digits for transcendental functions: decimals may differ by 1E-30 of their value",
		Holds:  func(_ *pair, _ context.Context, c *asked) bool { return hasLastDigits(c.whole, c.difference) },
	},
	{
		Name:   "distinct by a scan of the collection",
		Reason: "MongoDB's DISTINCT_SCAN returns null for missing fields and takes nested arrays apart, its COLLSCAN does not; with the hint {$natural: 1} it answers the same",
		Holds:  (*pair).scansAlike,
	},
	{
		Name:   "internal error of the 9.0 engine",
		Reason: "it answers a comparison with a symbol on an indexed field with 4457011, which says nothing about the documents",
		Holds:  func(_ *pair, _ context.Context, c *asked) bool { return errorCode(c.A) == engineFault && isOK(c.B) },
	},
}, rephrasings(), []settlement{
	{
		Name:   "type of a number after equal ones of two types",
		Reason: "what $densify makes has the type of the number before it, and its partition's value, and of equal numbers of different types either may be any; the replies are the same but for the types of numbers that $densify made, and the documents before it have such numbers",
		Holds:  (*pair).hasTiedNumbers,
	},
	{
		Name:   "sparse index under a comparison with an end of the order",
		Reason: "MongoDB finds {a: {$gt: MinKey}} by a sparse index of a, which has no entries of documents without a, and these match too; without sparse indexes both servers answer the same",
		Holds:  (*pair).isSparse,
	},
	{
		Name:   "distinct by an index of a position in an array",
		Reason: "MongoDB finds nothing at a.1 in an index of {\"a.1\": 1, a: 1}, in which a is an array; without such indexes both servers answer the same",
		Holds:  (*pair).isByPosition,
	},
	{
		Name:   "error in what another stage drops",
		Reason: "one server computes something before a stage that drops documents has seen them, or drops them first: which predicate comes first is open, and MongoDB moves predicates, also those that may fail, before $unwind and $redact, which Sheaf does not, and leaves out a $sort before another; Sheaf leaves one out before $count; without the stage both servers answer the error",
		Holds:  (*pair).isFiltered,
	},
	{
		Name:   "which of several mistakes is reported",
		Reason: "the servers report different errors, and both errors are there: of variants with less in them, both servers answer one with the one error and another with the other; which comes first depends on the order of evaluation (documents by batches or one by one, arguments from the left or the right)",
		Holds:  (*pair).hasBothMistakes,
	},
})

// settle returns the first settlement which shows that both answers are right, or nil.
func (p *pair) settle(ctx context.Context, cmd bson.D, d *difference) *settlement {
	c := &asked{cmd: cmd, whole: cmd, difference: d}
	if question, ok := questionOfView(cmd); ok {
		c.whole = p.expanded(ctx, question)
	} else if cmd[0].Key == "aggregate" {
		c.whole = p.expanded(ctx, cmd)
	}
	for i := range settlements {
		if settlements[i].Holds(p, ctx, c) {
			return &settlements[i]
		}
	}
	return nil
}

// scansAlike reports whether server A answers a distinct like server B if server A must scan the
// collection.
func (p *pair) scansAlike(ctx context.Context, c *asked) bool {
	if c.cmd[0].Key != "distinct" || hasField(c.cmd, "hint") || !isOK(c.A) || !isOK(c.B) {
		return false
	}
	scan := append(slices.Clone(c.cmd), bson.E{"hint", op("$natural", int32(1))})
	reply, _, err := p.ask(ctx, p.a, scan)
	return err == nil && equalReply(reply, c.B, false)
}

// agreesWithoutIndexes reports whether the servers agree if server A does not create the index that
// makes server A refuse a document.
func (p *pair) agreesWithoutIndexes(ctx context.Context, c *asked) bool {
	if !p.scanB || !isRefusal(c.A) || p.rewind(ctx) != nil { // with -scan-b, rewind creates no indexes
		return false
	}
	d, err := p.compare(ctx, c.cmd)
	return err == nil && d.equal(isOrdered(c.cmd, d))
}
