package filter

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/expr"
)

func operators() []operator {
	return []operator{
		{name: "$eq", family: Comparison, parseField: parseCompare(Eq)},
		{name: "$gt", family: Comparison, parseField: parseCompare(Gt)},
		{name: "$gte", family: Comparison, parseField: parseCompare(Gte)},
		{name: "$in", family: Comparison, parseField: parseIn},
		{name: "$lt", family: Comparison, parseField: parseCompare(Lt)},
		{name: "$lte", family: Comparison, parseField: parseCompare(Lte)},
		{name: "$ne", family: Comparison, parseField: parseNe},
		{name: "$nin", family: Comparison, parseField: parseNin},

		{name: "$and", family: Logical, parseTop: parseLogical(newAnd)},
		{name: "$nor", family: Logical, parseTop: parseLogical(newNor)},
		{name: "$not", family: Logical, parseField: parseNot},
		{name: "$or", family: Logical, parseTop: parseLogical(newOr)},

		{name: "$exists", family: Element, parseField: parseExists},
		{name: "$type", family: Element, parseField: parseType},

		{name: "$expr", family: Evaluation, parseTop: parseExpr},
		{name: "$jsonSchema", family: Evaluation, parseTop: parseJSONSchema},
		{name: "$mod", family: Evaluation, parseField: parseMod},
		{name: "$options", family: Evaluation, parseField: parseOptions, note: "with $regex only"},
		{name: "$regex", family: Evaluation, parseField: parseRegex},
		{name: "$text", family: Evaluation, parseTop: parseText},
		{name: "$where", family: Evaluation, parseTop: parseWhere},

		{name: "$all", family: Array, parseField: parseAll},
		{name: "$elemMatch", family: Array, parseField: parseElemMatch},
		{name: "$size", family: Array, parseField: parseSize},

		{name: "$bitsAllClear", family: Bitwise, parseField: parseBits(AllClear)},
		{name: "$bitsAllSet", family: Bitwise, parseField: parseBits(AllSet)},
		{name: "$bitsAnyClear", family: Bitwise, parseField: parseBits(AnyClear)},
		{name: "$bitsAnySet", family: Bitwise, parseField: parseBits(AnySet)},

		{name: "$geoIntersects", family: Geospatial, parseField: parseGeo},
		{name: "$geoWithin", family: Geospatial, parseField: parseGeo},
		{name: "$near", family: Geospatial, parseField: parseNear, nearby: true},
		{name: "$nearSphere", family: Geospatial, parseField: parseNear, nearby: true},
		{name: "$geoNear", family: Geospatial, parseField: parseNear, nearby: true, note: "old name of $near"},
		{name: "$within", family: Geospatial, parseField: parseGeo, note: "old name of $geoWithin"},

		{name: "$alwaysFalse", family: Misc, parseTop: parseAlways(&AlwaysFalse{})},
		{name: "$alwaysTrue", family: Misc, parseTop: parseAlways(&AlwaysTrue{})},
		{name: "$comment", family: Misc, parseTop: parseComment},
		{name: "$db", family: Misc, parseTop: parseDBRefField, note: "field of a DBRef"},
		{name: "$id", family: Misc, parseTop: parseDBRefField, note: "field of a DBRef"},
		{name: "$ref", family: Misc, parseTop: parseDBRefField, note: "field of a DBRef"},
		{name: "$sampleRate", family: Misc, parseTop: parseSampleRate},
	}
}

// operatorTable is built once and never changed.
var operatorTable = newRegistry(operators())

func newRegistry(defs []operator) *registry {
	reg := &registry{map[string]*operator{}, map[string]*operator{}}
	for i := range defs {
		if def := &defs[i]; def.parseField != nil {
			reg.field[def.name] = def
		} else {
			reg.top[def.name] = def
		}
	}
	return reg
}

// Operators returns all operators, sorted by family and name.
func Operators() []OperatorInfo {
	defs := operators()
	infos := make([]OperatorInfo, 0, len(defs))
	for _, def := range defs {
		status := expr.Supported
		if def.parseField == nil && def.parseTop == nil {
			status = expr.Known
		}
		infos = append(infos, OperatorInfo{def.name, def.family, status, def.note})
	}
	return slices.Clip(infos)
}
