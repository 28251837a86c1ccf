package filter

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
)

const misc = "miscellaneous"

// operators returns the definitions of all operators, sorted by family.
func operators() []operator {
	return slices.Concat(
		comparisonOperators(), logicalOperators(), elementOperators(), evaluationOperators(),
		arrayOperators(), bitwiseOperators(), geospatialOperators(), miscellaneousOperators(),
	)
}

func comparisonOperators() []operator {
	return []operator{
		{
			name: "$eq", family: "comparison", parseField: parseCompare(Eq),
			failure: comparisonFailure, operand: Values, depends: expr.OnOperands,
		},
		{
			name: "$gt", family: "comparison", parseField: parseCompare(Gt),
			failure: comparisonFailure, operand: Values, depends: expr.OnOperands,
		},
		{
			name: "$gte", family: "comparison", parseField: parseCompare(Gte),
			failure: comparisonFailure, operand: Values, depends: expr.OnOperands,
		},
		{
			name: "$in", family: "comparison", parseField: parseIn,
			failure: inFailure, operand: Values, depends: expr.OnOperands,
		},
		{
			name: "$lt", family: "comparison", parseField: parseCompare(Lt),
			failure: comparisonFailure, operand: Values, depends: expr.OnOperands,
		},
		{
			name: "$lte", family: "comparison", parseField: parseCompare(Lte),
			failure: comparisonFailure, operand: Values, depends: expr.OnOperands,
		},
		{
			name: "$ne", family: "comparison", parseField: parseNe,
			failure: comparisonFailure, operand: Values, depends: expr.OnOperands,
		},
		{
			name: "$nin", family: "comparison", parseField: parseNin,
			failure: inFailure, operand: Values, depends: expr.OnOperands,
		},
	}
}

func logicalOperators() []operator {
	return []operator{
		{
			name: "$and", family: "logical", parseTop: parseLogical(newAnd),
			failure: explainedElsewhere, operand: Filters, depends: expr.OnOperands,
		},
		{
			name: "$nor", family: "logical", parseTop: parseLogical(newNor),
			failure: explainedElsewhere, operand: Filters, depends: expr.OnOperands,
		},
		{
			name: "$not", family: "logical", parseField: parseNot,
			failure: explainedElsewhere, operand: Conditions, depends: expr.OnOperands,
		},
		{
			name: "$or", family: "logical", parseTop: parseLogical(newOr),
			failure: explainedElsewhere, operand: Filters, depends: expr.OnOperands,
		},
	}
}

func elementOperators() []operator {
	return []operator{
		{
			name: "$exists", family: "element", parseField: parseExists,
			failure: existsFailure, operand: Values, depends: expr.OnOperands,
		},
		{
			name: "$type", family: "element", parseField: parseType,
			failure: typeFailure, operand: Values, depends: expr.OnOperands,
		},
	}
}

func evaluationOperators() []operator {
	return []operator{
		{
			name: "$expr", family: "evaluation", parseTop: parseExpr,
			failure: explainedElsewhere, operand: Expression, depends: expr.OnOperands,
		},
		{
			name: "$jsonSchema", family: "evaluation", parseTop: parseJSONSchema,
			failure: explainedElsewhere, operand: Values, depends: expr.OnOperands,
		},
		{
			name: "$mod", family: "evaluation", parseField: parseMod,
			failure: modFailure, operand: Values, depends: expr.OnOperands,
		},
		{
			name: "$options", family: "evaluation", parseField: parseOptions,
			note: "with $regex only", failure: explainedElsewhere, operand: Values, depends: expr.OnOperands,
		},
		{
			name: "$regex", family: "evaluation", parseField: parseRegex,
			failure: regexFailure, operand: Values, depends: expr.OnOperands,
		},
		{
			name: "$text", family: "evaluation", parseTop: parseText,
			failure: explainedElsewhere, operand: Values, depends: expr.OnMetadata,
		},
		{
			name: "$where", family: "evaluation", parseTop: parseWhere,
			failure: explainedElsewhere, operand: Values, depends: expr.OnCode,
		},
	}
}

func arrayOperators() []operator {
	return []operator{
		{
			name: "$all", family: "array", parseField: parseAll,
			failure: allFailure, operand: Values, depends: expr.OnOperands,
		},
		{
			name: "$elemMatch", family: "array", parseField: parseElemMatch,
			failure: elemMatchFailure, operand: ElementFilter, depends: expr.OnOperands,
		},
		{
			name: "$size", family: "array", parseField: parseSize,
			failure: sizeFailure, operand: Values, depends: expr.OnOperands,
		},
	}
}

func bitwiseOperators() []operator {
	return []operator{
		{
			name: "$bitsAllClear", family: "bitwise", parseField: parseBits(AllClear),
			failure: bitsFailure, operand: Values, depends: expr.OnOperands,
		},
		{
			name: "$bitsAllSet", family: "bitwise", parseField: parseBits(AllSet),
			failure: bitsFailure, operand: Values, depends: expr.OnOperands,
		},
		{
			name: "$bitsAnyClear", family: "bitwise", parseField: parseBits(AnyClear),
			failure: bitsFailure, operand: Values, depends: expr.OnOperands,
		},
		{
			name: "$bitsAnySet", family: "bitwise", parseField: parseBits(AnySet),
			failure: bitsFailure, operand: Values, depends: expr.OnOperands,
		},
	}
}

func geospatialOperators() []operator {
	return []operator{
		{
			name: "$geoIntersects", family: "geospatial", parseField: parseGeo,
			failure: intersectsFailure, operand: Values, depends: expr.OnOperands,
		},
		{
			name: "$geoWithin", family: "geospatial", parseField: parseGeo,
			failure: withinFailure, operand: Values, depends: expr.OnOperands,
		},
		{
			name: "$near", family: "geospatial", parseField: parseNear, nearby: true,
			failure: explainedElsewhere, operand: Values, depends: expr.OnMetadata,
		},
		{
			name: "$nearSphere", family: "geospatial", parseField: parseNear, nearby: true,
			failure: explainedElsewhere, operand: Values, depends: expr.OnMetadata,
		},
		{
			name: "$geoNear", family: "geospatial", parseField: parseNear, nearby: true,
			note: "old name of $near", failure: explainedElsewhere, operand: Values, depends: expr.OnMetadata,
		},
		{
			name: "$within", family: "geospatial", parseField: parseGeo,
			note: "old name of $geoWithin", failure: withinFailure, operand: Values, depends: expr.OnOperands,
		},
	}
}

func miscellaneousOperators() []operator {
	return []operator{
		{
			name: "$alwaysFalse", family: misc, parseTop: parseAlways(&AlwaysFalse{}),
			failure: explainedElsewhere, operand: Values, depends: expr.OnOperands,
		},
		{
			name: "$alwaysTrue", family: misc, parseTop: parseAlways(&AlwaysTrue{}),
			failure: explainedElsewhere, operand: Values, depends: expr.OnOperands,
		},
		{
			name: "$comment", family: misc, parseTop: parseComment,
			failure: explainedElsewhere, operand: Values, depends: expr.OnOperands,
		},
		{
			name: "$db", family: misc, parseTop: parseDBRefField,
			note: "field of a DBRef", failure: comparisonFailure, operand: Values, depends: expr.OnOperands,
		},
		{
			name: "$id", family: misc, parseTop: parseDBRefField,
			note: "field of a DBRef", failure: comparisonFailure, operand: Values, depends: expr.OnOperands,
		},
		{
			name: "$ref", family: misc, parseTop: parseDBRefField,
			note: "field of a DBRef", failure: comparisonFailure, operand: Values, depends: expr.OnOperands,
		},
		{
			name: "$sampleRate", family: misc, parseTop: parseSampleRate,
			failure: explainedElsewhere, operand: Values, depends: expr.OnChance,
		},
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
	return def != nil && def.operand != Conditions
}

// named returns the definition of an operator under a path or in place of a path, or nil.
func (r *registry) named(name string) *operator {
	if def := r.field[name]; def != nil {
		return def
	}
	return r.top[name]
}

// Depends returns the inputs of an operator's result other than the values that it compares. It
// returns 0 if name is not an operator.
func Depends(name []byte) expr.Dependence {
	if def := operatorTable.named(string(name)); def != nil {
		return def.depends
	}
	return 0
}

// OperandOf returns the kind of an operator's argument. It returns 0 if name is not an operator.
func OperandOf(name string) Operand {
	if def := operatorTable.named(name); def != nil {
		return def.operand
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
