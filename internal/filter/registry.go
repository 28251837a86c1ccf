package filter

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/expr"
)

func operators() []operator {
	return []operator{
		{name: "$eq", family: Comparison, parseField: parseCompare(Eq), depends: expr.OnOperands},
		{name: "$gt", family: Comparison, parseField: parseCompare(Gt), depends: expr.OnOperands},
		{name: "$gte", family: Comparison, parseField: parseCompare(Gte), depends: expr.OnOperands},
		{name: "$in", family: Comparison, parseField: parseIn, depends: expr.OnOperands},
		{name: "$lt", family: Comparison, parseField: parseCompare(Lt), depends: expr.OnOperands},
		{name: "$lte", family: Comparison, parseField: parseCompare(Lte), depends: expr.OnOperands},
		{name: "$ne", family: Comparison, parseField: parseNe, depends: expr.OnOperands},
		{name: "$nin", family: Comparison, parseField: parseNin, depends: expr.OnOperands},

		{name: "$and", family: Logical, parseTop: parseLogical(newAnd), depends: expr.OnOperands},
		{name: "$nor", family: Logical, parseTop: parseLogical(newNor), depends: expr.OnOperands},
		{name: "$not", family: Logical, parseField: parseNot, depends: expr.OnOperands},
		{name: "$or", family: Logical, parseTop: parseLogical(newOr), depends: expr.OnOperands},

		{name: "$exists", family: Element, parseField: parseExists, depends: expr.OnOperands},
		{name: "$type", family: Element, parseField: parseType, depends: expr.OnOperands},

		{name: "$expr", family: Evaluation, parseTop: parseExpr, depends: expr.OnOperands},
		{name: "$jsonSchema", family: Evaluation, parseTop: parseJSONSchema, depends: expr.OnOperands},
		{name: "$mod", family: Evaluation, parseField: parseMod, depends: expr.OnOperands},
		{
			name: "$options", family: Evaluation, parseField: parseOptions,
			note: "with $regex only", depends: expr.OnOperands,
		},
		{name: "$regex", family: Evaluation, parseField: parseRegex, depends: expr.OnOperands},
		{name: "$text", family: Evaluation, parseTop: parseText, depends: expr.OnMetadata},
		{name: "$where", family: Evaluation, parseTop: parseWhere, depends: expr.OnCode},

		{name: "$all", family: Array, parseField: parseAll, depends: expr.OnOperands},
		{name: "$elemMatch", family: Array, parseField: parseElemMatch, depends: expr.OnOperands},
		{name: "$size", family: Array, parseField: parseSize, depends: expr.OnOperands},

		{name: "$bitsAllClear", family: Bitwise, parseField: parseBits(AllClear), depends: expr.OnOperands},
		{name: "$bitsAllSet", family: Bitwise, parseField: parseBits(AllSet), depends: expr.OnOperands},
		{name: "$bitsAnyClear", family: Bitwise, parseField: parseBits(AnyClear), depends: expr.OnOperands},
		{name: "$bitsAnySet", family: Bitwise, parseField: parseBits(AnySet), depends: expr.OnOperands},

		{name: "$geoIntersects", family: Geospatial, parseField: parseGeo, depends: expr.OnOperands},
		{name: "$geoWithin", family: Geospatial, parseField: parseGeo, depends: expr.OnOperands},
		{name: "$near", family: Geospatial, parseField: parseNear, nearby: true, depends: expr.OnMetadata},
		{name: "$nearSphere", family: Geospatial, parseField: parseNear, nearby: true, depends: expr.OnMetadata},
		{
			name: "$geoNear", family: Geospatial, parseField: parseNear, nearby: true,
			note: "old name of $near", depends: expr.OnMetadata,
		},
		{
			name: "$within", family: Geospatial, parseField: parseGeo,
			note: "old name of $geoWithin", depends: expr.OnOperands,
		},

		{name: "$alwaysFalse", family: Misc, parseTop: parseAlways(&AlwaysFalse{}), depends: expr.OnOperands},
		{name: "$alwaysTrue", family: Misc, parseTop: parseAlways(&AlwaysTrue{}), depends: expr.OnOperands},
		{name: "$comment", family: Misc, parseTop: parseComment, depends: expr.OnOperands},
		{name: "$db", family: Misc, parseTop: parseDBRefField, note: "field of a DBRef", depends: expr.OnOperands},
		{name: "$id", family: Misc, parseTop: parseDBRefField, note: "field of a DBRef", depends: expr.OnOperands},
		{name: "$ref", family: Misc, parseTop: parseDBRefField, note: "field of a DBRef", depends: expr.OnOperands},
		{name: "$sampleRate", family: Misc, parseTop: parseSampleRate, depends: expr.OnChance},
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

// Depends says what decides the result of an operator apart from the values that it compares, and
// nothing of a name without one.
func Depends(name []byte) expr.Dependence {
	if def := operatorTable.field[string(name)]; def != nil {
		return def.depends
	}
	if def := operatorTable.top[string(name)]; def != nil {
		return def.depends
	}
	return 0
}

// Unrepeatable returns the names of the operators that give another result the next time.
func Unrepeatable() []string {
	var names []string
	for _, def := range operators() {
		if !def.depends.Repeatable() {
			names = append(names, def.name)
		}
	}
	return names
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
