package pipeline

import (
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// checkPlaces returns an error if a stage stands at a position where it is not allowed. defs are
// the definitions of the stages in pipeline order.
func checkPlaces(opts *parsing.Options, defs []*parsing.Definition) error {
	if err := checkTop(opts.Top, defs); err != nil {
		return err
	}
	changes := len(defs) > 0 && defs[0].Input == parsing.FromChanges
	for i, def := range defs {
		if def.ChangeStreams == parsing.OnlyLastInStream && !changes && !opts.InFacet() {
			return mongoerr.New(mongoerr.IllegalOperation, "%s can only be used in a $changeStream pipeline", def.Name)
		}
		if err := checkInside(opts, def); err != nil {
			return err
		}
		if changes && def.ChangeStreams == parsing.NotInChangeStream {
			return mongoerr.New(mongoerr.IllegalOperation, "%s is not permitted in a $changeStream pipeline", def.Name)
		}
		if def.IsFirst() && i > 0 {
			return mongoerr.New(40602, "%s is only valid as the first stage in a pipeline", def.Name)
		}
		if i == len(defs)-1 {
			return nil
		}
		if def.ChangeStreams == parsing.OnlyLastInStream {
			return mongoerr.New(7182802, "%s must be the last stage in the pipeline", def.Name)
		}
		if def.Writes == feature.Yes {
			return mongoerr.New(40601, "%s can only be the final stage in the pipeline", def.Name)
		}
	}
	return nil
}

// checkInside returns an error if the stage is not allowed in a sub-pipeline of the enclosing
// stages, such as $lookup or $facet.
func checkInside(opts *parsing.Options, def *parsing.Definition) error {
	joined, united := opts.Inside(parsing.InLookup), opts.Inside(parsing.InUnionWith)
	switch {
	case def.Joined == feature.No && joined:
		return mongoerr.New(51047, "%s is not allowed within a $lookup's sub-pipeline", def.Name)
	case def.Joined == feature.No && united:
		return mongoerr.New(31441, "%s is not allowed within a $unionWith's sub-pipeline", def.Name)
	case def.Facets == feature.No && opts.InFacet():
		name := def.Name
		switch {
		case joined:
			name += " inside of $lookup"
		case united:
			name += " inside of $unionWith"
		}
		return mongoerr.New(40600, "%s is not allowed to be used within a $facet stage", name)
	default:
		return nil
	}
}

// checkTop returns an error if the first stage does not fit the target of the aggregate command: a
// collection, or the whole database.
func checkTop(top parsing.Top, defs []*parsing.Definition) error {
	if len(defs) == 0 {
		if top == parsing.OverNothing {
			return mongoerr.New(mongoerr.InvalidNamespace, "{aggregate: 1} is not valid for an empty pipeline.")
		}
		return nil
	}
	first := defs[0]
	switch {
	case top == parsing.OverNothing && first.Input != parsing.FromServer && first.Input != parsing.FromChanges:
		return mongoerr.New(mongoerr.InvalidNamespace, "{aggregate: 1} is not valid for '%s'; a collection is required.", first.Name)
	case top == parsing.OverCollection && first.Input == parsing.FromServer && first.NotOverCollection != nil:
		return first.NotOverCollection
	case top == parsing.OverCollection && first.Input == parsing.FromServer:
		return mongoerr.New(mongoerr.InvalidNamespace,
			"'%s' can only be run with database or cluster-level aggregation {aggregate: 1}", first.Name)
	default:
		return nil
	}
}
