package parsing

import "github.com/sheafdb/sheaf/internal/bsonx"

// Parent is the set of the kind of stage that a sub-pipeline belongs to, and of InFacet where a $facet is anywhere around.
type Parent int

// The kinds of stage that have sub-pipelines.
const (
	InLookup Parent = 1 << iota
	InUnionWith
	InFacet
)

// Top says what a pipeline is run over, which its first stage must fit.
type Top int

// What a pipeline is run over.
const (
	OverUnknown    Top = iota // nothing is checked
	OverCollection            // a collection or view
	OverNothing               // {aggregate: 1}
)

// FirstStage returns the name of the first stage, empty where there is none.
func FirstStage(stages bsonx.Doc) string {
	if stages.IsEmpty() {
		return ""
	}
	if v := stages.First().Value; v.Type == bsonx.TypeDocument && !v.Doc().IsEmpty() {
		return string(v.Doc().First().Key)
	}
	return ""
}

// TopOf returns what a sub-pipeline runs over: a collection, or none where it has no name.
func TopOf(coll string) Top {
	if coll == "" {
		return OverNothing
	}
	return OverCollection
}
