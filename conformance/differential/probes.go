package main

import (
	"context"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/bson"
)

// timesDifference is the difference that isTimed recognises.
var timesDifference = known{
	Name:   "order of times that one update made, which are projected away",
	Reason: "as above; the replies have the same documents, and without the projection the times that the update made",
}

// isTimed reports whether a find that projects times away differs by the order of its documents alone.
func (p *pair) isTimed(ctx context.Context, cmd bson.D, d *difference) bool {
	words, ok := unprojected(cmd)
	if !ok || d.After || !isOK(d.A) || !equalReply(d.A, d.B, false) {
		return false
	}
	whole, err := p.compare(ctx, words)
	return err == nil && isOK(whole.A) && !whole.equal(true) && equalReply(whole.A, whole.B, false) && strings.Contains(show(whole.A), "the present time")
}

// unprojected returns a find that sorts without its projection, false where there is none.
func unprojected(cmd bson.D) (bson.D, bool) {
	if cmd[0].Key != "find" || !hasField(cmd, "projection") || !hasField(cmd, "sort") {
		return nil, false
	}
	return slices.DeleteFunc(slices.Clone(cmd), func(e bson.E) bool { return e.Key == "projection" }), true
}

// bareDifference is the difference that isBare recognises.
var bareDifference = known{
	Name:   "null behind an array without documents, which brings a mistake",
	Reason: "as above: the 9.0 engine takes another document, and what is to be done with one of them is a mistake; without such documents both servers answer the same",
}

// isBare reports whether a command of which one server makes a mistake is answered alike where it leaves out the documents with arrays
// that have elements other than documents, or none, before the end of a path that is compared with null.
func (p *pair) isBare(ctx context.Context, cmd bson.D, d *difference) bool {
	words, ok := withoutBareArrays(cmd)
	if !ok || isOK(d.A) == isOK(d.B) {
		return false
	}
	if isWrite(cmd) {
		if p.rewind(ctx) != nil {
			return false
		}
	}
	other, err := p.compare(ctx, words)
	return err == nil && other.equal(isOrdered(words, other)) && (isOK(other.A) || errorCode(other.A) == errorCode(d.B))
}

// withoutBareArrays returns a command whose query excludes these documents, false where it compares no such path with null.
func withoutBareArrays(cmd bson.D) (bson.D, bool) {
	at := slices.IndexFunc(cmd, func(e bson.E) bool { return e.Key == "filter" || e.Key == "query" })
	if at < 0 || cmd[0].Key != "find" && cmd[0].Key != "findAndModify" {
		return nil, false
	}
	all := bson.A{cmd[at].Value}
	mentions(cmd[at].Value, "", func(path, _ string, value any) bool {
		for i, c := range path {
			if c == '.' && isNullish(value) {
				bare := op("$elemMatch", op("$not", op("$type", "object")))
				all = append(all, op(path[:i], op("$not", op("$size", int32(0)))), op(path[:i], op("$not", bare)))
			}
		}
		return false
	})
	words := slices.Clone(cmd)
	words[at].Value = op("$and", all)
	return words, len(all) > 1
}
