package parsing

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// The stages of a change stream.
const (
	ChangeStreamStage = "$changeStream"
	SplitStage        = "$changeStreamSplitLargeEvent"
)

// Parent is the set of the kind of stage that a sub-pipeline belongs to, and of InFacet where a $facet is anywhere around.
type Parent int

// The kinds of stage that have sub-pipelines.
const (
	InLookup Parent = 1 << iota
	InUnionWith
	InFacet
)

// IsInitial reports whether a stage makes documents itself, so that it can only be the first one.
func IsInitial(name string) bool {
	switch name {
	case "$changeStream", "$collStats", "$geoNear", "$indexStats", "$listSampledQueries", "$listSearchIndexes", "$listSessions",
		"$planCacheStats", "$search", "$searchMeta", "$vectorSearch", "$shardedDataDistribution":
		return true
	default:
		return isCollectionless(name)
	}
}

// isCollectionless reports whether a stage makes documents from no collection.
func isCollectionless(name string) bool {
	switch name {
	case "$currentOp", "$documents", "$listLocalSessions", "$querySettings", "$queryStats":
		return true
	default:
		return false
	}
}

// IsWriter reports whether a stage writes, so that it can only be the last one.
func IsWriter(name string) bool { return name == "$out" || name == "$merge" }

// CheckPlaces refuses stages where they cannot stand.
func (o *Options) CheckPlaces(stages bsonx.Doc) error {
	inside := o.inside
	if err := o.Top.check(stages); err != nil {
		return err
	}
	changes := FirstStage(stages) == ChangeStreamStage
	n := stages.Len()
	i := 0
	for it := stages.Iter(); it.Next(); i++ {
		name := string(it.Value().Doc().First().Key)
		if name == SplitStage && !changes && inside&InFacet == 0 {
			return mongoerr.New(mongoerr.IllegalOperation, "%s can only be used in a $changeStream pipeline", name)
		}
		if err := checkInside(name, inside); err != nil {
			return err
		}
		if changes && !inChangeStream(name) {
			return mongoerr.New(mongoerr.IllegalOperation, "%s is not permitted in a $changeStream pipeline", name)
		}
		if IsInitial(name) && i > 0 {
			return mongoerr.New(40602, "%s is only valid as the first stage in a pipeline", name)
		}
		if name == SplitStage && i < n-1 {
			return mongoerr.New(7182802, "%s must be the last stage in the pipeline", name)
		}
		if IsWriter(name) && i < n-1 {
			return mongoerr.New(40601, "%s can only be the final stage in the pipeline", name)
		}
	}
	return nil
}

func checkInside(name string, inside Parent) error {
	never := IsWriter(name) || name == ChangeStreamStage || name == SplitStage
	switch {
	case never && inside&InLookup != 0:
		return mongoerr.New(51047, "%s is not allowed within a $lookup's sub-pipeline", name)
	case never && inside&InUnionWith != 0:
		return mongoerr.New(31441, "%s is not allowed within a $unionWith's sub-pipeline", name)
	case inside&InFacet != 0 && (never || IsInitial(name) || name == "$facet"):
		switch {
		case inside&InLookup != 0:
			name += " inside of $lookup"
		case inside&InUnionWith != 0:
			name += " inside of $unionWith"
		}
		return mongoerr.New(40600, "%s is not allowed to be used within a $facet stage", name)
	default:
		return nil
	}
}

// Top says what a pipeline is run over, which its first stage must fit.
type Top int

// What a pipeline is run over.
const (
	OverUnknown    Top = iota // nothing is checked
	OverCollection            // a collection or view
	OverNothing               // {aggregate: 1}
)

// check refuses a first stage that does not fit.
func (t Top) check(stages bsonx.Doc) error {
	first := FirstStage(stages)
	switch {
	case t == OverNothing && stages.IsEmpty():
		return mongoerr.New(mongoerr.InvalidNamespace, "{aggregate: 1} is not valid for an empty pipeline.")
	case t == OverNothing && !isCollectionless(first) && first != ChangeStreamStage:
		return mongoerr.New(mongoerr.InvalidNamespace, "{aggregate: 1} is not valid for '%s'; a collection is required.", first)
	case t == OverCollection && first == "$currentOp":
		return mongoerr.New(mongoerr.InvalidNamespace, "$currentOp must be run against the 'admin' database with {aggregate: 1}")
	case t == OverCollection && isCollectionless(first):
		return mongoerr.New(mongoerr.InvalidNamespace, "'%s' can only be run with database or cluster-level aggregation {aggregate: 1}", first)
	default:
		return nil
	}
}

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

// inChangeStream reports whether a stage may follow $changeStream: it takes one event and gives one or none.
func inChangeStream(name string) bool {
	switch name {
	case ChangeStreamStage, SplitStage, "$addFields", "$match", "$project", "$redact", "$replaceRoot", "$replaceWith", "$set", "$unset":
		return true
	default:
		return false
	}
}
