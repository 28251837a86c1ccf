package filter

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
)

const misc = "miscellaneous"

func operators() []operator {
	return []operator{
		{name: "$eq", family: "comparison", parseField: parseCompare(Eq), depends: expr.OnOperands},
		{name: "$gt", family: "comparison", parseField: parseCompare(Gt), depends: expr.OnOperands},
		{name: "$gte", family: "comparison", parseField: parseCompare(Gte), depends: expr.OnOperands},
		{name: "$in", family: "comparison", parseField: parseIn, depends: expr.OnOperands},
		{name: "$lt", family: "comparison", parseField: parseCompare(Lt), depends: expr.OnOperands},
		{name: "$lte", family: "comparison", parseField: parseCompare(Lte), depends: expr.OnOperands},
		{name: "$ne", family: "comparison", parseField: parseNe, depends: expr.OnOperands},
		{name: "$nin", family: "comparison", parseField: parseNin, depends: expr.OnOperands},

		{name: "$and", family: "logical", parseTop: parseLogical(newAnd), depends: expr.OnOperands},
		{name: "$nor", family: "logical", parseTop: parseLogical(newNor), depends: expr.OnOperands},
		{name: "$not", family: "logical", parseField: parseNot, wraps: true, depends: expr.OnOperands},
		{name: "$or", family: "logical", parseTop: parseLogical(newOr), depends: expr.OnOperands},

		{name: "$exists", family: "element", parseField: parseExists, depends: expr.OnOperands},
		{name: "$type", family: "element", parseField: parseType, depends: expr.OnOperands},

		{name: "$expr", family: "evaluation", parseTop: parseExpr, depends: expr.OnOperands},
		{name: "$jsonSchema", family: "evaluation", parseTop: parseJSONSchema, depends: expr.OnOperands},
		{name: "$mod", family: "evaluation", parseField: parseMod, depends: expr.OnOperands},
		{
			name: "$options", family: "evaluation", parseField: parseOptions,
			note: "with $regex only", depends: expr.OnOperands,
		},
		{name: "$regex", family: "evaluation", parseField: parseRegex, depends: expr.OnOperands},
		{name: "$text", family: "evaluation", parseTop: parseText, depends: expr.OnMetadata},
		{name: "$where", family: "evaluation", parseTop: parseWhere, depends: expr.OnCode},

		{name: "$all", family: "array", parseField: parseAll, depends: expr.OnOperands},
		{name: "$elemMatch", family: "array", parseField: parseElemMatch, depends: expr.OnOperands},
		{name: "$size", family: "array", parseField: parseSize, depends: expr.OnOperands},

		{name: "$bitsAllClear", family: "bitwise", parseField: parseBits(AllClear), depends: expr.OnOperands},
		{name: "$bitsAllSet", family: "bitwise", parseField: parseBits(AllSet), depends: expr.OnOperands},
		{name: "$bitsAnyClear", family: "bitwise", parseField: parseBits(AnyClear), depends: expr.OnOperands},
		{name: "$bitsAnySet", family: "bitwise", parseField: parseBits(AnySet), depends: expr.OnOperands},

		{name: "$geoIntersects", family: "geospatial", parseField: parseGeo, depends: expr.OnOperands},
		{name: "$geoWithin", family: "geospatial", parseField: parseGeo, depends: expr.OnOperands},
		{name: "$near", family: "geospatial", parseField: parseNear, nearby: true, depends: expr.OnMetadata},
		{name: "$nearSphere", family: "geospatial", parseField: parseNear, nearby: true, depends: expr.OnMetadata},
		{
			name: "$geoNear", family: "geospatial", parseField: parseNear, nearby: true,
			note: "old name of $near", depends: expr.OnMetadata,
		},
		{
			name: "$within", family: "geospatial", parseField: parseGeo,
			note: "old name of $geoWithin", depends: expr.OnOperands,
		},

		{name: "$alwaysFalse", family: misc, parseTop: parseAlways(&AlwaysFalse{}), depends: expr.OnOperands},
		{name: "$alwaysTrue", family: misc, parseTop: parseAlways(&AlwaysTrue{}), depends: expr.OnOperands},
		{name: "$comment", family: misc, parseTop: parseComment, depends: expr.OnOperands},
		{name: "$db", family: misc, parseTop: parseDBRefField, note: "field of a DBRef", depends: expr.OnOperands},
		{name: "$id", family: misc, parseTop: parseDBRefField, note: "field of a DBRef", depends: expr.OnOperands},
		{name: "$ref", family: misc, parseTop: parseDBRefField, note: "field of a DBRef", depends: expr.OnOperands},
		{name: "$sampleRate", family: misc, parseTop: parseSampleRate, depends: expr.OnChance},
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

// IsCondition reports whether a document whose first field is name is a condition for a value, such
// as {$gt: 1}. {$not: …} is not.
func IsCondition(name []byte) bool { return operatorTable.isCondition(string(name)) }

// isCondition reports whether name is an operator under a path that does not contain operators.
func (r *registry) isCondition(name string) bool {
	def := r.field[name]
	return def != nil && !def.wraps
}

// Depends returns the inputs of an operator's result other than the values that it compares. It
// returns 0 if name is not an operator.
func Depends(name []byte) expr.Dependence {
	if def := operatorTable.field[string(name)]; def != nil {
		return def.depends
	}
	if def := operatorTable.top[string(name)]; def != nil {
		return def.depends
	}
	return 0
}

// Unrepeatable returns the names of the operators whose result may differ when they run again.
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
func Operators() []feature.Info {
	defs := operators()
	infos := make([]feature.Info, 0, len(defs))
	for _, def := range defs {
		status := feature.Supported
		if def.parseField == nil && def.parseTop == nil {
			status = feature.Known
		}
		infos = append(infos, feature.Info{Name: def.name, Family: def.family, Status: status, Note: def.note})
	}
	return slices.Clip(infos)
}
