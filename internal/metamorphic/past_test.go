package metamorphic

import (
	"context"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// past runs some reads of a variant at a past time: before all documents of the collection were
// deleted. Afterwards the documents are inserted again.
type past struct{ reads int }

// everyRead is the number of reads of which one is at a past time.
const everyRead = 3

// answer does the same as the function answer, but runs some reads at a past time.
func (p *past) answer(ctx context.Context, v *variant, op bson.D) (string, error) {
	switch op[0].Key {
	case "find", "aggregate", "distinct":
	default:
		return ask(ctx, v, op)
	}
	if isNear(op) || isSearch(op) {
		return ask(ctx, v, op) // these reads need an index, and the times of indexes are known only to half a second
	}
	if p.reads++; p.reads%everyRead != 0 || strings.Contains(text(op), "$out") ||
		strings.Contains(text(op), "$merge\"") {
		return ask(ctx, v, op)
	}
	db := v.client.Database("test")
	name := fmt.Sprint(op[0].Value)
	var docs []bson.Raw
	all, err := db.RunCommandCursor(ctx, bson.D{{"find", name}})
	if err == nil {
		err = all.All(ctx, &docs)
	}
	if err != nil || len(docs) == 0 {
		return ask(ctx, v, op)
	}
	reply, err := db.RunCommand(ctx, bson.D{{"ping", 1}}).Raw()
	if err != nil {
		return "", err
	}
	every := bson.A{bson.D{{"q", bson.D{}}, {"limit", 0}}}
	if err := db.RunCommand(ctx,
		bson.D{{"delete", name}, {"deletes", every}}).Err(); err != nil {
		return "", err
	}
	then := bson.D{{"level", "snapshot"}, {"atClusterTime", reply.Lookup("operationTime")}}
	at := append(bson.D{op[0], {"readConcern", then}}, op[1:]...)
	got, err := ask(ctx, v, at)
	if err != nil {
		return "", err
	}
	insert := bson.D{
		{"insert", name},
		{"documents", docs},
		{"bypassDocumentValidation", true},
	}
	return got, db.RunCommand(ctx, insert).Err()
}
