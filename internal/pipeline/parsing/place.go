package parsing

import "github.com/sheafdb/sheaf/internal/bsonx"

// Parent is the kind of stage that a sub-pipeline belongs to. It is a bit set, because InFacet is
// added if a $facet encloses the stage.
type Parent int

// Kinds of stages with sub-pipelines.
const (
	InLookup Parent = 1 << iota
	InUnionWith
	InFacet
)

// Top is the kind of target that a pipeline runs over. It restricts the first stage.
type Top int

// Kinds of targets.
const (
	OverUnknown    Top = iota // unknown, so nothing is checked
	OverCollection            // a collection or view
	OverNothing               // no collection: {aggregate: 1}
)

// FirstStage returns the name of the first stage, or "" if there is no stage.
func FirstStage(stages bsonx.Doc) string {
	if stages.IsEmpty() {
		return ""
	}
	if v := stages.First().Value; v.Type == bsonx.TypeDocument && !v.Doc().IsEmpty() {
		return string(v.Doc().First().Key)
	}
	return ""
}

// TopOf returns the target of a sub-pipeline: a collection, or nothing if coll is empty.
func TopOf(coll string) Top {
	if coll == "" {
		return OverNothing
	}
	return OverCollection
}
