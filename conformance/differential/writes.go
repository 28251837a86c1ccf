package main

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/bson"
)

// writesOneByOne explains different outcomes of an update of several documents that fails on both
// servers. It repeats the update on each document separately. It reports whether the servers then
// agree, and the original collections and errors consist of the outcomes of the single updates.
func (p *pair) writesOneByOne(ctx context.Context, c *asked) bool {
	if !isMulti(c.cmd) || !c.Failed && (!hasErrors(c.A) || !hasErrors(c.B)) {
		return false
	}
	all := bson.D{{"find", collection}}
	left, err := p.compare(ctx, all)
	if err != nil || p.rewind(ctx) != nil {
		return false
	}
	before, err := p.compare(ctx, all)
	if err != nil || !before.equal(false) {
		return false
	}
	codes, ok := p.updateEach(ctx, c.cmd, before.A)
	after, err := p.compare(ctx, all)
	if !ok || err != nil || !after.equal(false) {
		return false
	}
	wrote := !c.After && !(slices.Contains(codes, writeErrorCode(c.A)) && slices.Contains(codes, writeErrorCode(c.B)))
	return !wrote && isMixture(left.A, before.A, after.A) && isMixture(left.B, before.A, after.A)
}

// updateEach applies an update to one document after the other and returns the error codes. It
// returns false if the servers differ.
func (p *pair) updateEach(ctx context.Context, cmd bson.D, documents bson.D) ([]int32, bool) {
	var codes []int32
	rows, _ := lookup(documents, "rows").(bson.A)
	for _, row := range rows {
		stmt := slices.Clone(firstStatement(cmd, "updates"))
		for i := range stmt {
			if stmt[i].Key == "q" {
				stmt[i].Value = op("$and", bson.A{stmt[i].Value, bson.D{{"_id", lookup(row.(bson.D), "_id")}}})
			}
		}
		one := slices.Clone(cmd)
		for i := range one {
			if one[i].Key == "updates" {
				one[i].Value = bson.A{stmt}
			}
		}
		d, err := p.compare(ctx, one)
		if err != nil || !d.equal(false) {
			return nil, false
		}
		codes = append(codes, writeErrorCode(d.A))
	}
	return codes, true
}

// isMixture reports whether each document of a collection is equal to the document before the
// update or to the document after the update.
func isMixture(left, before, after bson.D) bool {
	rows, _ := lookup(left, "rows").(bson.A)
	was, _ := lookup(before, "rows").(bson.A)
	is, _ := lookup(after, "rows").(bson.A)
	known := slices.Concat(was, is)
	return len(rows) == len(was) && !slices.ContainsFunc(rows, func(row any) bool {
		return !slices.ContainsFunc(known, func(v any) bool { return equalValue(row, v) })
	})
}

// refusesOneByOne explains different errors of a createIndexes, find or findAndModify. It repeats
// the command on each document separately. It reports whether the servers then agree, and both
// original errors are among the errors found.
func (p *pair) refusesOneByOne(ctx context.Context, c *asked) bool {
	a, b := errorCode(c.A), errorCode(c.B)
	if a == 0 || b == 0 || c.cmd[0].Key != "createIndexes" && c.cmd[0].Key != "find" &&
		c.cmd[0].Key != "findAndModify" {
		return false
	}
	rows, _, err := p.ask(ctx, p.a, bson.D{{"find", c.cmd[0].Value}})
	if err != nil {
		return false
	}
	var codes []int32
	documents, _ := lookup(rows, "rows").(bson.A)
	for _, row := range documents {
		d, err := p.refuseAlone(ctx, c.cmd, row.(bson.D))
		if err != nil || !d.equal(false) {
			return false
		}
		codes = append(codes, errorCode(d.A))
	}
	return slices.Contains(codes, a) && slices.Contains(codes, b)
}

// aloneCollection is a collection with a single document.
const aloneCollection = "alone"

// refuseAlone runs a command on a collection that contains only the given document.
func (p *pair) refuseAlone(ctx context.Context, cmd, document bson.D) (*difference, error) {
	insert := insertCommand(document)
	insert[0].Value = aloneCollection
	alone := slices.Clone(cmd)
	alone[0].Value = aloneCollection
	var d *difference
	for _, step := range []bson.D{{{"drop", aloneCollection}}, insert, alone} {
		var err error
		if d, err = p.compare(ctx, step); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// upsertsAlike reports whether the replies or collections differ in a single document, the upserted
// one, and only in the order of its fields.
func upsertsAlike(_ *pair, _ context.Context, c *asked) bool {
	if !isUpsert(c.cmd) || len(c.A) != len(c.B) {
		return false
	}
	made := 0
	sameFields := func(a, b any) bool {
		if equalValue(a, b) {
			return true
		}
		if _, isDoc := a.(bson.D); !isDoc || !equalValue(sortFields(a), sortFields(b)) {
			return false
		}
		made++
		return true
	}
	for i, e := range c.A {
		switch other := c.B[i]; {
		case e.Key != other.Key:
			return false
		case e.Key == "rows":
			if !equalMultiset(e.Value, other.Value, sameFields) {
				return false
			}
		case e.Key == "value":
			if !sameFields(e.Value, other.Value) {
				return false
			}
		case !equalValue(e.Value, other.Value):
			return false
		}
	}
	return made == 1
}

// mergesAlike reports whether the collections after a $merge are equal, apart from the order of the
// fields in some documents of server B, which is the order of the field names.
func mergesAlike(_ *pair, _ context.Context, c *asked) bool {
	return c.After && mentionsKey(c.cmd, "$merge") &&
		equalMultiset(lookup(c.A, "rows"), lookup(c.B, "rows"), func(a, b any) bool {
			return equalValue(a, b) || equalValue(a, byNames(b))
		})
}
