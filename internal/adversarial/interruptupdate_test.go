package adversarial

import (
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/update"
)

// updateAttack is an update u with its query q and its arrayFilters.
type updateAttack struct {
	u       any
	q       bson.D
	filters bson.A
}

// updateAttacks returns updates that take long over large values, by operator.
func updateAttacks() map[string][]updateAttack {
	l := newLists()
	field := func(op string, arg any) updateAttack { return updateAttack{u: is(op, is("v", arg))} }
	fields := func(op string, value func(i int) any) updateAttack {
		return updateAttack{u: is(op, manyFields(scaled(100_000), value))}
	}
	inside := func(op string, value func(i int) any) updateAttack {
		return updateAttack{u: is(op, is("v", 1)[:0])}.with(op, manyPaths(scaled(20_000), "v.%d", value))
	}
	one := func(int) any { return int32(1) }
	push := func(more ...bson.E) updateAttack {
		return field("$push", append(is("$each", l.numbers), more...))
	}
	e := func(k string, v any) bson.E { return bson.E{k, v} }
	numeric := func(op string) []updateAttack {
		return []updateAttack{
			fields(op, one), inside(op, one),
			{u: is(op, is("v.$[]", 1))},
			{u: is(op, is("v.$[].v", 1))},
		}
	}
	positional := []updateAttack{
		{u: is("$set", is("v.$", 1)), q: is("v", is("$elemMatch", is("$in", l.numbers)))},
		{u: is("$set", is("v.$", 1)), q: is("v", is("$gte", 0))},
	}
	chosen := []updateAttack{
		{u: is("$set", is("v.$[e]", 1)), filters: bson.A{is("e", is("$in", l.numbers))}},
		{u: is("$set", is("v.$[e].v", 1)), filters: bson.A{is("e.k", is("$in", l.regexes))}},
		{u: is("$set", is("v.$[e]", 1)), filters: bson.A{is("e", is("$regex", "(.*7){25}$"))}},
	}
	return map[string][]updateAttack{
		"$currentDate": {
			fields("$currentDate", func(int) any { return true }),
			{u: is("$currentDate", is("v.$[]", true))},
		},
		"$inc": numeric("$inc"), "$max": numeric("$max"), "$min": numeric("$min"), "$mul": numeric("$mul"),
		"$rename": {
			{u: is("$rename", renames(scaled(20_000), "f%d", "g%d"))},
			{u: is("$rename", renames(scaled(20_000), "v.f%d", "v.g%d"))},
		},
		"$set": append(numeric("$set"), field("$set", l.docs),
			updateAttack{u: is("$set", is("v.$[].a.b.c", l.texts[:3]))}),
		"$setOnInsert": {fields("$setOnInsert", one)},
		"$unset": {
			fields("$unset", one), inside("$unset", one),
			{u: is("$unset", is("v.$[]", 1))},
			{u: is("$unset", is("v.$[].v", 1))},
		},
		"$addToSet": {
			field("$addToSet", -1), field("$addToSet", is("$each", l.numbers)),
			field("$addToSet", is("$each", l.docs)), field("$addToSet", is("$each", l.texts)),
			{u: is("$addToSet", is("new", is("$each", l.docs)))},
		},
		"$pop": {field("$pop", 1), field("$pop", -1), {u: is("$pop", is("v.$[]", 1))}},
		"$pull": {
			field("$pull", 5), field("$pull", is("$in", l.numbers)), field("$pull", is("$in", l.regexes)),
			field("$pull", is("k", is("$in", l.texts))), field("$pull", bson.Regex{Pattern: "(.*7){25}$"}),
			field("$pull", is("$gte", 0)),
			field("$pull", is("$or", conditions(scaled(3000), func(i int) any { return i }))),
		},
		"$pullAll": {field("$pullAll", l.numbers), field("$pullAll", l.texts), field("$pullAll", l.docs)},
		"$push":    {field("$push", l.docs), push(), fields("$push", one)},
		"$bit": {
			{u: is("$bit", is("v.$[]", is("or", 1)))},
			fields("$bit", func(int) any { return is("xor", int32(5)) }),
		},
		"$each": {
			push(), field("$push", is("$each", l.docs)),
			{u: is("$push", is("v.$[]", is("$each", l.numbers[:5])))},
		},
		"$position": {push(e("$position", 5)), push(e("$position", -5))},
		"$slice":    {push(e("$slice", 5)), push(e("$slice", -500_000))},
		"$sort": {
			push(e("$sort", 1)), push(e("$sort", -1), e("$slice", 10)), push(e("$sort", is("k", 1))),
			push(e("$sort", bson.D{{"v", 1}, {"k", -1}})),
		},
		"$": positional, "$[]": {
			{u: is("$set", is("v.$[]", 1))},
			{u: is("$set", is("v.$[].x", 1))},
		}, "$[<identifier>]": chosen,
		// An update may also be a replacement or a pipeline.
		"replacement": {{u: manyFields(scaled(200_000), one)}, {u: is("x", l.docs)}},
		"pipeline": {
			{u: bson.A{is("$set", is("v",
				is("$sortArray", bson.D{{"input", "$v"}, {"sortBy", 1}})))}},
			{u: bson.A{is("$set", manyFields(scaled(50_000), one))}},
			{u: many(900, func(i int) any { return is("$set", is(fmt.Sprintf("v.f%d", i), 1)) })},
			{u: bson.A{is("$replaceWith",
				is("$mergeObjects", bson.A{
					"$$ROOT",
					is("v", is("$map", bson.D{
						{"input", "$v"},
						{"in", is("$concat", bson.A{is("$toString", "$$this"), "x"})},
					})),
				}))}},
		},
	}
}

// with returns the attack with an update by one operator.
func (a updateAttack) with(op string, arg bson.D) updateAttack {
	a.u = is(op, arg)
	return a
}

// manyPaths returns a document of n fields, whose names are paths.
func manyPaths(n int, path string, value func(i int) any) bson.D {
	out := make(bson.D, n)
	for i := range out {
		out[i] = bson.E{fmt.Sprintf(path, i), value(i)}
	}
	return out
}

func renames(n int, from, to string) bson.D {
	return manyPaths(n, from, func(i int) any { return fmt.Sprintf(to, i) })
}

// interruptUpdates interrupts each update operator over large values, in a collection without
// indexes and in one with several indexes.
func interruptUpdates(t *testing.T, db *mongo.Database) {
	all, names := updateAttacks(), []string{"replacement", "pipeline"}
	for _, op := range update.Operators() {
		names = append(names, op.Name)
	}
	kinds := []string{"numbers", "texts", "object", "pairs"}
	m := newMeasure(t, db)
	for n, name := range names {
		attacks, ok := all[name]
		if !ok {
			t.Errorf("%s has no case: write its arguments into the table", name)
		}
		for i, a := range attacks {
			for k, kind := range kinds {
				for c, coll := range []string{"large", "indexed"} {
					if !*long && (i+k+n+c)%shortShare(8) != 0 {
						continue
					}
					st := bson.D{{"q", append(is("_id", kind), a.q...)}, {"u", a.u}}
					if a.filters != nil {
						st = append(st, bson.E{"arrayFilters", a.filters})
					}
					if m.check(fmt.Sprintf("%s %d of %s in %s", name, i, kind, coll),
						bson.D{{"update", coll}, {"updates", bson.A{st}}}) == 0 {
						m.restore(coll, kind)
					}
				}
			}
		}
	}
	m.report()
}
