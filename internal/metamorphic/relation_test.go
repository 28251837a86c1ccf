package metamorphic

import (
	"context"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// relations checks the relations between the answers of one variant, for the predicate of a query.
func relations(ctx context.Context, v *variant, op bson.D) error {
	var p, collation bson.D
	for _, e := range op {
		switch e.Key {
		case "filter", "query":
			p, _ = e.Value.(bson.D)
		case "collation":
			collation, _ = e.Value.(bson.D)
		}
	}
	if p == nil || op[0].Key == "findAndModify" || isNear(op) || isSearch(op) {
		return nil
	}
	all, err := ids(ctx, v, bson.D{}, nil)
	if err != nil {
		return err
	}
	in, err := ids(ctx, v, p, collation)
	if err != nil {
		return err
	}
	out, err := ids(ctx, v, bson.D{{"$nor", bson.A{p}}}, collation)
	if err != nil {
		return err
	}
	both := slices.Concat(in, out)
	slices.Sort(both)
	if !slices.Equal(both, all) {
		return fmt.Errorf("%s: the predicate has %v and its negation %v, which is not %v", v.name, in, out, all)
	}
	if err := counts(ctx, v, p, collation, len(in)); err != nil {
		return err
	}
	if op[0].Key == "distinct" {
		return distinctOfFound(ctx, v, op, in)
	}
	return nil
}

// ids returns the _ids of the matches in the order of their text.
func ids(ctx context.Context, v *variant, filter, collation bson.D) ([]string, error) {
	docs, err := cursor(ctx, v,
		collatedBy(bson.D{{"find", collName}, {"filter", filter}}, collation))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, d := range docs {
		out = append(out, d.Lookup("_id").String())
	}
	slices.Sort(out)
	return out, nil
}

func collatedBy(cmd, collation bson.D) bson.D {
	if collation == nil {
		return cmd
	}
	return append(cmd, bson.E{"collation", collation})
}

// counts checks that both ways to count agree with find.
func counts(ctx context.Context, v *variant, p, collation bson.D, want int) error {
	stages := bson.A{bson.D{{"$match", p}}, bson.D{{"$count", "n"}}}
	aggregate := collatedBy(bson.D{{"aggregate", collName}, {"pipeline", stages}}, collation)
	docs, err := cursor(ctx, v, append(aggregate, bson.E{"cursor", bson.D{}}))
	if err != nil {
		return err
	}
	n := int32(0)
	if len(docs) > 0 {
		n = docs[0].Lookup("n").Int32()
	}
	var r struct{ N int }
	count := collatedBy(bson.D{{"count", collName}, {"query", p}}, collation)
	if err := v.client.Database("test").RunCommand(ctx, count).Decode(&r); err != nil {
		return err
	}
	if int(n) != want || r.N != want {
		return fmt.Errorf("%s: find gives %d documents, countDocuments says %d, count %d", v.name, want, n, r.N)
	}
	return nil
}

// distinctOfFound checks that distinct returns the same values for the predicate of op as for the
// _ids of the documents that the predicate finds.
func distinctOfFound(ctx context.Context, v *variant, op bson.D, in []string) error {
	named := bson.A{}
	docs, err := cursor(ctx, v, bson.D{{"find", collName}})
	if err != nil {
		return err
	}
	for _, d := range docs {
		if id := d.Lookup("_id"); slices.Contains(in, id.String()) {
			named = append(named, id)
		}
	}
	byID := slices.Clone(op)
	byID[len(byID)-1].Value = bson.D{{"_id", bson.D{{"$in", named}}}}
	want, err := answer(ctx, v, byID)
	if err != nil {
		return err
	}
	got, err := answer(ctx, v, op)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("%s: distinct gives %s\nof the same documents %s", v.name, got, want)
	}
	return nil
}
