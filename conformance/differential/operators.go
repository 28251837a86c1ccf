package main

import (
	"maps"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/bson"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// fields returns a document made of pairs of names and values. It leaves out the pairs whose value
// is nil.
func fields(pairs ...any) bson.D {
	d := bson.D{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != nil {
			d = append(d, bson.E{pairs[i].(string), pairs[i+1]})
		}
	}
	return d
}

// maybe returns a value in one of n calls on average, and otherwise nil.
func (g *generator) maybe(n int, value func() any) any {
	if g.chance(n) {
		return value()
	}
	return nil
}

// within calls f, whose expressions may use the named variables.
func (g *generator) within(names []string, f func() any) any {
	kept := g.scope
	g.scope = append(slices.Clone(kept), names...)
	defer func() { g.scope = kept }()
	return f()
}

// arrayOperators lists the operators that bind variables or have named arguments.
func arrayOperators() []operator {
	list := []operator{
		{name: "$map", result: arrayKind, make: func(g *generator, d int) any {
			name := pick(g, []string{"x", "y"})
			return op("$map", fields("input", g.expression(arrayKind, d-1), "as", name,
				"in", g.within([]string{name}, func() any { return g.expression(anyKind, d-1) })))
		}},
		{name: "$filter", result: arrayKind, make: func(g *generator, d int) any {
			return op("$filter", fields("input", g.expression(arrayKind, d-1),
				"cond", g.within([]string{"this"}, func() any { return g.expression(boolKind, d-1) }),
				"limit", g.maybe(4, func() any { return g.expression(integerKind, 0) })))
		}},
		{name: "$reduce", result: anyKind, make: func(g *generator, d int) any {
			return op("$reduce", bson.D{
				{"input", g.expression(arrayKind, d-1)},
				{"initialValue", g.expression(numberKind, d-1)},
				{"in", g.within([]string{"this", "value"}, func() any { return g.expression(numberKind, d-1) })},
			})
		}},
		{name: "$zip", result: arrayKind, make: func(g *generator, d int) any {
			return op("$zip", fields("inputs", bson.A{g.expression(arrayKind, d-1), g.expression(arrayKind, d-1)},
				"useLongestLength", g.maybe(3, func() any { return true }),
				"defaults", g.maybe(6, func() any { return bson.A{int32(0), "x"} })))
		}},
		{name: "$sortArray", result: arrayKind, make: func(g *generator, d int) any {
			by := pick(g, []any{
				int32(1), int32(-1),
				bson.D{{"n", int32(1)}},
				bson.D{{"s", int32(-1)}, {"n", int32(1)}},
			})
			return op("$sortArray", fields("input", g.expression(arrayKind, d-1), "sortBy", by))
		}},
	}
	for _, name := range []string{"$firstN", "$lastN", "$minN", "$maxN"} {
		list = append(list, operator{name: name, result: arrayKind, make: func(g *generator, d int) any {
			// The 9.0 engine drops a variable whose value is constant. Then it turns {n: 1, input:
			// []} into a $first of [], which it rejects.
			n, input := g.expression(integerKind, 0), g.expression(arrayKind, d-1)
			if name, isText := n.(string); isText && strings.HasPrefix(name, "$$") {
				n = g.constant(integerKind)
			}
			if list, isList := input.(bson.A); isList {
				input = op("$literal", list)
			}
			return op(name, fields("n", n, "input", input))
		}})
	}
	for i := range list {
		list[i].family = "array"
	}
	return list
}

var timezones = []any{
	"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "+05:30", "-0800", "+03",
	"Australia/Lord_Howe", "GMT", "Nowhere/At_All", "$s",
}

func (g *generator) timezone() any { return g.maybe(2, func() any { return pick(g, timezones) }) }

var timeUnits = []any{
	"year", "quarter", "month", "week", "day", "hour", "minute", "second",
	"millisecond", "month", "day", "fortnight",
}

// named returns operators with named arguments.
func named(family string, table map[string]func(g *generator, d int) any, result func(name string) kind) []operator {
	var list []operator
	for _, name := range sortedKeys(table) {
		list = append(list, operator{
			family: family, name: name, result: result(name),
			make: func(g *generator, d int) any {
				return op(name, table[name](g, d))
			},
		})
	}
	return list
}

// otherOperators lists the operators with named arguments that do not work on arrays.
func otherOperators() []operator {
	dates := named("date", dateOperators, func(name string) kind {
		switch name {
		case "$dateToString":
			return stringKind
		case "$dateToParts":
			return objectKind
		case "$dateDiff":
			return numberKind
		}
		return dateKind
	})
	texts := named("string", textOperators, func(name string) kind {
		switch name {
		case "$regexMatch":
			return boolKind
		case "$regexFind":
			return objectKind
		case "$regexFindAll":
			return arrayKind
		}
		return stringKind
	})
	rest := named("conditional", map[string]func(g *generator, d int) any{
		"$switch": func(g *generator, d int) any {
			branches := bson.A{}
			for range 1 + g.rnd.IntN(2) {
				branches = append(branches,
					fields("case", g.expression(boolKind, d-1), "then", g.expression(anyKind, d-1)))
			}
			return fields("branches", branches, "default", g.maybe(2, func() any { return g.expression(anyKind, 0) }))
		},
		"$let": func(g *generator, d int) any {
			return fields("vars", bson.D{{"v", g.expression(anyKind, d-1)}},
				"in", g.within([]string{"v"}, func() any { return g.expression(anyKind, d-1) }))
		},
		"$cond": func(g *generator, d int) any {
			return fields("if", g.expression(boolKind, d-1), "then", g.expression(anyKind, d-1),
				"else", g.expression(anyKind, d-1))
		},
	}, func(string) kind { return anyKind })
	objects := named("object", objectOperators, func(name string) kind {
		if name == "$getField" {
			return anyKind
		}
		return objectKind
	})
	conversions := named("conversion", map[string]func(g *generator, d int) any{
		"$convert": func(g *generator, d int) any {
			return fields("input", g.expression(anyKind, d-1), "to", pick(g, typeNames),
				"onError", g.maybe(3, func() any { return g.leaf(anyKind) }), "onNull",
				g.maybe(3, func() any { return g.leaf(anyKind) }))
		},
	}, func(string) kind { return anyKind })
	numbers := named("accumulator", map[string]func(g *generator, d int) any{
		"$percentile": func(g *generator, d int) any {
			return fields("input", g.expression(numbersKind, d-1), "p",
				bson.A{0.5, pick(g, []any{0.0, 1.0, 0.9, 0.01})}, "method", "approximate")
		},
		"$median": func(g *generator, d int) any {
			return fields("input", g.expression(numbersKind, d-1), "method", "approximate")
		},
	}, func(name string) kind {
		if name == "$median" {
			return numberKind
		}
		return arrayKind
	})
	return slices.Concat(dates, texts, rest, objects, conversions, numbers)
}

var objectOperators = map[string]func(g *generator, d int) any{
	"$getField": func(g *generator, d int) any {
		return fields("field", pick(g, []any{"n", "s", "a.b", "none", op("$literal", "$x")}), "input",
			g.expression(objectKind, d-1))
	},
	"$setField": func(g *generator, d int) any {
		return fields("field", pick(g, []string{"n", "s", "new", "a.b"}), "input", g.expression(objectKind, d-1),
			"value", g.expression(anyKind, d-1))
	},
	"$unsetField": func(g *generator, d int) any {
		return fields("field", pick(g, []string{"n", "s", "none"}), "input", g.expression(objectKind, d-1))
	},
}

var textOperators = map[string]func(g *generator, d int) any{
	"$trim":       trimOf,
	"$ltrim":      trimOf,
	"$rtrim":      trimOf,
	"$replaceOne": replaceOf,
	"$replaceAll": replaceOf,
	"$regexFind":  regexOf, "$regexFindAll": regexOf, "$regexMatch": regexOf,
}

func trimOf(g *generator, d int) any {
	return fields("input", g.expression(stringKind, d-1), "chars",
		g.maybe(2, func() any { return g.expression(stringKind, 0) }))
}

func replaceOf(g *generator, d int) any {
	return fields("input", g.expression(stringKind, d-1), "find", g.expression(stringKind, 0),
		"replacement", g.expression(stringKind, 0))
}

func regexOf(g *generator, d int) any {
	return fields("input", g.expression(stringKind, d-1), "regex",
		pick(g, []any{"a", "(a)(b)?", "^a|b$", ".", "", "é", "(?<x>b)", "[a-c]+", "a*", "("}),
		"options", g.maybe(3, func() any { return pick(g, []any{"i", "m", "s", "x", "ix"}) }))
}

var dateFormats = []any{
	"%Y-%m-%d", "%Y-%m-%dT%H:%M:%S.%LZ", "%d/%m/%Y", "%G-W%V-%u", "%j", "%w %U", "%H:%M %z", "%Z",
	"%%", "%b %B", "%", "%q", "$s",
}

var dateTexts = []any{
	"2024-02-29", "2023-02-29", "2024-03-31T01:30:00", "2017-02-08T12:10:40.787Z", "2017-02-08 12:10:40 +0100",
	"06/15/2009", "2018-W32", "", "x", "$s",
}

var dateOperators = map[string]func(g *generator, d int) any{
	"$dateAdd":      dateShift,
	"$dateSubtract": dateShift,
	"$dateDiff": func(g *generator, d int) any {
		return fields("startDate", g.expression(dateKind, d-1), "endDate",
			g.expression(dateKind, d-1), "unit", pick(g, timeUnits),
			"timezone", g.timezone(), "startOfWeek", g.maybe(4, func() any { return pick(g, weekdays) }))
	},
	"$dateTrunc": func(g *generator, d int) any {
		return fields("date", g.expression(dateKind, d-1), "unit", pick(g, timeUnits),
			"binSize", g.maybe(2, func() any {
				return pick(g, []any{int32(1), int32(2), int32(7), int64(15), int32(0), 2.5})
			}),
			"timezone", g.timezone(), "startOfWeek", g.maybe(4, func() any { return pick(g, weekdays) }))
	},
	"$dateToString": func(g *generator, d int) any {
		return fields("date", g.expression(dateKind, d-1), "format",
			g.maybe(2, func() any { return pick(g, dateFormats) }), "timezone", g.timezone(),
			"onNull", g.maybe(4, func() any { return g.leaf(anyKind) }))
	},
	"$dateFromString": func(g *generator, _ int) any {
		return fields("dateString", pick(g, dateTexts), "format",
			g.maybe(3, func() any { return pick(g, dateFormats) }), "timezone", g.timezone(),
			"onError", g.maybe(3, func() any { return g.leaf(anyKind) }), "onNull",
			g.maybe(4, func() any { return g.leaf(anyKind) }))
	},
	"$dateToParts": func(g *generator, d int) any {
		return fields("date", g.expression(dateKind, d-1), "timezone", g.timezone(), "iso8601",
			g.maybe(3, func() any { return true }))
	},
	"$dateFromParts": func(g *generator, _ int) any {
		part := func(values ...any) any { return g.maybe(2, func() any { return pick(g, append(values, "$i")) }) }
		first := bson.D{{"year", pick(g, []any{int32(2020), int32(1999), int32(1), int32(9999), int32(10000), "$i"})}}
		if g.chance(4) {
			first[0].Key = "isoWeekYear"
			return append(first, fields("isoWeek", part(int32(1), int32(53)), "isoDayOfWeek",
				part(int32(1), int32(7), int32(9)), "timezone", g.timezone())...)
		}
		return append(first, fields("month", part(int32(1), int32(12), int32(14), int32(0)), "day",
			part(int32(1), int32(31), int32(-5)),
			"hour", part(int32(0), int32(25)), "minute", part(int32(59), int32(-61)), "second", part(int32(30)),
			"millisecond", part(int32(999), int32(1001)),
			"timezone", g.timezone())...)
	},
}

var weekdays = []any{"monday", "sun", "Friday", "someday"}

func dateShift(g *generator, d int) any {
	return fields("startDate", g.expression(dateKind, d-1), "unit", pick(g, timeUnits),
		"amount", pick(g, []any{int32(1), int32(-1), int32(13), int64(400), 2.0, 1.5, "$i"}), "timezone", g.timezone())
}
