package pipeline

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

const (
	changeStreamStage = "$changeStream"
	splitStage        = "$changeStreamSplitLargeEvent"
)

// parent is the set of the kind of stage that a sub-pipeline belongs to, and of inFacet where a $facet is anywhere around.
type parent int

const (
	inLookup parent = 1 << iota
	inUnionWith
	inFacet
)

// isInitial reports whether a stage makes documents itself, so that it can only be the first one.
func isInitial(name string) bool {
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

// isWriter reports whether a stage writes, so that it can only be the last one.
func isWriter(name string) bool { return name == "$out" || name == "$merge" }

// checkPlaces refuses stages where they cannot stand.
func (o *Options) checkPlaces(stages bsonx.Doc) error {
	inside := o.inside
	if err := o.Top.check(stages); err != nil {
		return err
	}
	changes := firstStage(stages) == changeStreamStage
	n := stages.Len()
	i := 0
	for it := stages.Iter(); it.Next(); i++ {
		name := string(it.Value().Doc().First().Key)
		if name == splitStage && !changes && inside&inFacet == 0 {
			return mongoerr.New(mongoerr.IllegalOperation, "%s can only be used in a $changeStream pipeline", name)
		}
		if err := checkInside(name, inside); err != nil {
			return err
		}
		if changes && !inChangeStream(name) {
			return mongoerr.New(mongoerr.IllegalOperation, "%s is not permitted in a $changeStream pipeline", name)
		}
		if isInitial(name) && i > 0 {
			return mongoerr.New(40602, "%s is only valid as the first stage in a pipeline", name)
		}
		if name == splitStage && i < n-1 {
			return mongoerr.New(7182802, "%s must be the last stage in the pipeline", name)
		}
		if isWriter(name) && i < n-1 {
			return mongoerr.New(40601, "%s can only be the final stage in the pipeline", name)
		}
	}
	return nil
}

func checkInside(name string, inside parent) error {
	never := isWriter(name) || name == changeStreamStage || name == splitStage
	switch {
	case never && inside&inLookup != 0:
		return mongoerr.New(51047, "%s is not allowed within a $lookup's sub-pipeline", name)
	case never && inside&inUnionWith != 0:
		return mongoerr.New(31441, "%s is not allowed within a $unionWith's sub-pipeline", name)
	case inside&inFacet != 0 && (never || isInitial(name) || name == "$facet"):
		switch {
		case inside&inLookup != 0:
			name += " inside of $lookup"
		case inside&inUnionWith != 0:
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
	first := firstStage(stages)
	switch {
	case t == OverNothing && stages.IsEmpty():
		return mongoerr.New(mongoerr.InvalidNamespace, "{aggregate: 1} is not valid for an empty pipeline.")
	case t == OverNothing && !isCollectionless(first) && first != changeStreamStage:
		return mongoerr.New(mongoerr.InvalidNamespace, "{aggregate: 1} is not valid for '%s'; a collection is required.", first)
	case t == OverCollection && first == "$currentOp":
		return mongoerr.New(mongoerr.InvalidNamespace, "$currentOp must be run against the 'admin' database with {aggregate: 1}")
	case t == OverCollection && isCollectionless(first):
		return mongoerr.New(mongoerr.InvalidNamespace, "'%s' can only be run with database or cluster-level aggregation {aggregate: 1}", first)
	default:
		return nil
	}
}

// firstStage returns the name of the first stage, or empty if there is none.
func firstStage(stages bsonx.Doc) string {
	if stages.IsEmpty() {
		return ""
	}
	if v := stages.First().Value; v.Type == bsonx.TypeDocument && !v.Doc().IsEmpty() {
		return string(v.Doc().First().Key)
	}
	return ""
}

// topOf returns what a sub-pipeline runs over: a collection, or none where it has no name.
func topOf(coll string) Top {
	if coll == "" {
		return OverNothing
	}
	return OverCollection
}

// inChangeStream reports whether a stage may follow $changeStream: it takes one event and gives one or none.
func inChangeStream(name string) bool {
	switch name {
	case changeStreamStage, splitStage, "$addFields", "$match", "$project", "$redact", "$replaceRoot", "$replaceWith", "$set", "$unset":
		return true
	default:
		return false
	}
}
