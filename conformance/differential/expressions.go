package main

import (
	"strings"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
)

// kind is the type of value that a generated expression should have. So operators mostly get
// suitable arguments. Now and then an expression has another type.
type kind byte

const (
	anyKind     kind = '.'
	numberKind  kind = 'n'
	integerKind kind = 'i'
	stringKind  kind = 's'
	arrayKind   kind = 'a'
	numbersKind kind = 'l'
	objectKind  kind = 'o'
	dateKind    kind = 'd'
	boolKind    kind = 'b'
)

// operator is one expression operator. Its signature has a letter for the kind of each argument.
// The sign * repeats the preceding argument up to three times, and ? makes it optional. An operator
// without a signature has its own generator.
type operator struct {
	family    string
	name      string
	result    kind
	signature string
	make      func(g *generator, depth int) any
}

// plainOperators lists operators by family. Each name is followed by the kind of the result and the
// signature.
var plainOperators = map[string]string{
	"arithmetic": "$abs n n, $add n n*, $add d dn, $ceil n n, $divide n nn, $exp n n, $floor n n, $ln n n, $log n nn, $log10 n n, $mod n nn, $multiply n n*, " +
		"$pow n nn, $round n ni?, $sqrt n n, $subtract n nn, $subtract n dd, $subtract d dn, $trunc n ni?, $bitAnd n i*, $bitOr n i*, $bitXor n i*, $bitNot n i",
	"array": "$arrayElemAt . ai, $arrayToObject o a, $concatArrays a a*, $first . a, $last . a, $in b .a, $indexOfArray n a.i?i?, $isArray b ., " +
		"$range a iii?, $reverseArray a a, $size n a, $slice a ai, $slice a aii, $first n l, $last n l",
	"boolean":      "$and b .*, $or b .*, $not b .",
	"comparison":   "$cmp n .., $eq b .., $gt b nn, $gte b .., $lt b nn, $lte b .., $ne b ..",
	"conditional":  "$cond . b.., $ifNull . ..*, $cond n bnn",
	"conversion":   "$toBool b ., $toDate d ., $toDecimal n ., $toDouble n ., $toInt n ., $toLong n ., $toObjectId . s, $toString s ., $isNumber b ., $type s .",
	"object":       "$mergeObjects o o*, $objectToArray a o",
	"set":          "$allElementsTrue b a, $anyElementTrue b a, $setDifference a aa, $setEquals b aa*, $setIntersection a a*, $setIsSubset b aa, $setUnion a a*",
	"string":       "$concat s s*, $indexOfBytes n ssi?i?, $indexOfCP n ssi?i?, $split a ss, $strLenBytes n s, $strLenCP n s, $strcasecmp n ss, $substr s sii, $substrBytes s sii, $substrCP s sii, $toLower s s, $toUpper s s, $binarySize n s, $bsonSize n o",
	"trigonometry": "$sin n n, $cos n n, $tan n n, $asin n n, $acos n n, $atan n n, $atan2 n nn, $sinh n n, $cosh n n, $tanh n n, $asinh n n, $acosh n n, $atanh n n, $degreesToRadians n n, $radiansToDegrees n n",
	"date": "$year n d, $month n d, $dayOfMonth n d, $dayOfWeek n d, $dayOfYear n d, $hour n d, $minute n d, $second n d, $millisecond n d, $week n d, " +
		"$isoWeek n d, $isoWeekYear n d, $isoDayOfWeek n d, $tsSecond n ., $tsIncrement n .",
	"accumulator": "$sum n n*, $avg n n*, $min . .*, $max . .*, $sum n l, $avg n l, $min . a, $max . a, $stdDevPop n l, $stdDevSamp n l, $stdDevPop n n*",
}

// operatorTable lists all operators that are generated.
func operatorTable() []operator {
	var table []operator
	for _, family := range sortedKeys(plainOperators) {
		for _, line := range strings.Split(plainOperators[family], ", ") {
			f := strings.Fields(line)
			table = append(table, operator{family: family, name: f[0], result: kind(f[1][0]), signature: f[2]})
		}
	}
	return append(append(table, arrayOperators()...), otherOperators()...)
}

// expression returns an expression that mostly has a result of kind k.
func (g *generator) expression(k kind, depth int) any {
	if g.chance(12) {
		k = anyKind
	}
	if depth <= 0 || g.chance(4) {
		return g.leaf(k)
	}
	var fits []operator
	for _, o := range g.calls {
		if k == anyKind || o.result == k ||
			(k == integerKind || k == numberKind) && o.result == numberKind && g.chance(2) ||
			k == numbersKind && o.result == arrayKind && g.chance(3) {
			fits = append(fits, o)
		}
	}
	if len(fits) == 0 {
		return g.leaf(k)
	}
	return g.call(pick(g, fits), depth)
}

// call returns a call of an operator with random arguments.
func (g *generator) call(o operator, depth int) any {
	if o.make != nil {
		return o.make(g, depth)
	}
	args := bson.A{}
	for i := 0; i < len(o.signature); i++ {
		k, modifier := kind(o.signature[i]), byte(0)
		if i+1 < len(o.signature) && strings.IndexByte("*?", o.signature[i+1]) >= 0 {
			i++
			modifier = o.signature[i]
		}
		count := 1
		switch {
		case modifier == '*':
			count = g.rnd.IntN(4)
		case modifier == '?' && g.chance(2):
			count = 0
		}
		for range count {
			args = append(args, g.expression(k, depth-1))
		}
	}
	if g.chance(60) {
		args = append(args, g.leaf(anyKind)) // the call has one argument too many
	}
	if len(args) == 1 && g.chance(2) {
		return op(o.name, args[0])
	}
	return op(o.name, args)
}

// typedFields lists the fields of typedDocument by the kind of their usual values.
var typedFields = map[kind][]string{
	numberKind: {"n", "m", "i", "o.n"}, integerKind: {"i", "j"}, stringKind: {"s", "r", "o.s"},
	arrayKind: {"l", "k", "t"}, numbersKind: {"l"},
	objectKind: {"o", "p"}, dateKind: {"d", "e"}, boolKind: {"b", "f"},
	anyKind: {"n", "i", "s", "l", "k", "o", "d", "b", "a", "c", "none", "o.n", "t.n", "o.p.n"},
}

// leaf returns an expression without operators: a field path, a variable or a literal.
func (g *generator) leaf(k kind) any {
	switch {
	case !g.chance(3):
		path := pick(g, typedFields[k])
		if len(g.scope) > 0 && g.chance(2) {
			return "$$" + pick(g, g.scope)
		}
		return "$" + path
	case g.chance(6):
		return op("$literal", g.value(1))
	case k == anyKind && g.chance(6):
		return pick(g, []any{"$$ROOT", "$$CURRENT.n", "$$REMOVE", nil, bson.D{{"x", "$n"}}, bson.A{"$s", int32(1)}})
	}
	return g.constant(k)
}

// constant returns a constant that MongoDB cannot take for an expression.
func (g *generator) constant(k kind) any {
	switch k {
	case numberKind:
		return g.number()
	case integerKind:
		return pick(g, []any{
			int32(0), int32(1), int32(2), int32(3), int32(5), int32(-1),
			int32(-3), int64(2), 2.0, int32(100),
		})
	case stringKind:
		return pick(g, texts)
	case arrayKind, numbersKind:
		list := bson.A{}
		for range g.rnd.IntN(4) {
			if k == numbersKind || g.chance(2) {
				list = append(list, g.number())
			} else {
				list = append(list, pick(g, texts))
			}
		}
		return list
	case objectKind:
		return op("$literal", g.subdocument(1))
	case dateKind:
		return g.date()
	case boolKind:
		return g.chance(2)
	}
	return pick(g, []any{
		g.number(), pick(g, texts), nil, true, false, g.date(),
		primitive.Timestamp{T: 5, I: 1},
		bson.A{},
	})
}

func (g *generator) number() any {
	if g.chance(5) {
		return pick(g, edgeNumbers)
	}
	return pick(g, plainNumbers)
}

// date returns a time between the years 1 and 9999. Most times are in this century.
func (g *generator) date() primitive.DateTime {
	switch g.rnd.IntN(6) {
	case 0:
		return pick(g, []primitive.DateTime{
			0, -1, 1, 951782400000, 1709164800000, 1711846800000, 1729990800000,
			253402300799999, -62135596800000, -2208988800000,
		})
	case 1:
		return primitive.DateTime(g.rnd.Int64N(4_000_000_000_000) - 2_000_000_000_000)
	}
	day := int64(15_000 + g.rnd.IntN(4000))
	return primitive.DateTime(day*86_400_000 + int64(g.rnd.IntN(2))*g.rnd.Int64N(86_400_000))
}

// day returns the beginning of a day of this century.
func (g *generator) day() primitive.DateTime {
	return primitive.DateTime(int64(15_000+g.rnd.IntN(4000)) * 86_400_000)
}

// fieldValue returns a value for a field of kind k. Now and then it returns nil or a value of
// another type.
func (g *generator) fieldValue(k kind) any {
	switch {
	case g.chance(14):
		return nil
	case g.chance(12):
		return g.value(1)
	case k == objectKind:
		return bson.D{{"n", g.number()}, {"s", pick(g, texts)}, {pick(g, fieldNames), g.scalar()}}
	case k == integerKind:
		return pick(g, []any{int32(0), int32(1), int32(2), int32(7), int64(-3), int32(40), int64(1) << 40, 3.0})
	}
	return g.constant(k)
}

// typedDocument returns a document whose fields mostly have the types that typedFields lists.
func (g *generator) typedDocument(id int32) bson.D {
	d := bson.D{{"_id", id}}
	for _, f := range []struct {
		name string
		kind kind
	}{
		{"n", numberKind},
		{"m", numberKind},
		{"i", integerKind},
		{"j", integerKind},
		{"s", stringKind},
		{"r", stringKind},
		{"l", numbersKind},
		{"k", arrayKind},
		{"o", objectKind},
		{"p", objectKind},
		{"d", dateKind},
		{"e", dateKind},
		{"b", boolKind},
		{"f", boolKind},
	} {
		if !g.chance(10) {
			d = append(d, bson.E{f.name, g.fieldValue(f.kind)})
		}
	}
	list := bson.A{}
	for range g.rnd.IntN(4) {
		list = append(list, g.fieldValue(objectKind))
	}
	return append(d, bson.E{"t", list}, bson.E{"a", g.value(2)}, bson.E{"c", g.value(1)},
		bson.E{"g", int32(g.rnd.IntN(4))}, bson.E{"q", int32(g.rnd.IntN(40))})
}
