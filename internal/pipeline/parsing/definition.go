package parsing

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Definition is one stage, with all its properties. A stage has one of Parse, Refuse and neither:
// without both it is known and not implemented.
type Definition struct {
	Name string
	// Parse compiles a use of the stage.
	Parse func(arg bsonx.Value, opts Options) ([]Stage, error)
	// Refuse is the error of MongoDB itself outside of Atlas or of a sharded cluster.
	Refuse *mongoerr.Error
	// NotOverCollection is MongoDB's error about a stage of FromServer that is run over a collection,
	// if it is not the usual one.
	NotOverCollection *mongoerr.Error
	// Note is a remark for the list of stages.
	Note string
	// Internal says that the server writes the stage, for its own pipelines.
	Internal bool

	Properties

	// Inside tells the walker what an argument contains. The argument may be malformed. It has no
	// default: sub-pipelines that it leaves out escape the rules.
	Inside func(arg bsonx.Value, w Walker)

	// Budget is the limit of the stage's memory; the zero value is the limit of all stages.
	Budget Budget
}

// Properties say where a stage may stand and how it is run. Safety rests on them, so that none has a default: a test
// refuses a definition in which one has the zero value.
type Properties struct {
	// Input says where the stage's documents come from, and so whether it must be the first one.
	Input Input
	// Writes says that the stage writes to a collection: then it must be the last one.
	Writes feature.Answer
	// Joined says that the pipelines of $lookup and $unionWith may have the stage.
	Joined feature.Answer
	// Facets says that the pipelines of $facet may have it.
	Facets feature.Answer
	// Views says that the pipeline of a view may have it.
	Views feature.Answer
	// Updates says that the pipeline of an update may have it.
	Updates feature.Answer
	// ChangeStreams says whether it may follow $changeStream.
	ChangeStreams ChangeStreams
	// Transactions says that a transaction may run it.
	Transactions feature.Answer
	// StableAPI says which uses the stable API has.
	StableAPI StableAPI
	// ReadConcern says which levels the stage runs with.
	ReadConcern ReadConcern
	// Repeatable says that the stage answers the same when it is run again on the same documents.
	Repeatable feature.Answer
}

// Input says where the documents of a stage come from.
type Input byte

// The inputs. All but FromStages are possible for a first stage only.
const (
	_              Input = iota
	FromStages           // from the stage before it, or from the collection
	FromCollection       // from the collection, which the stage reads by itself
	FromStatistics       // from what the server knows of the collection, which is not read
	FromServer           // from no collection: {aggregate: 1}
	FromChanges          // from the change stream of a collection, a database or the deployment
)

// ChangeStreams says whether a stage may follow $changeStream.
type ChangeStreams byte

// The answers. A stage that may follow makes at most one event of each event.
const (
	_                 ChangeStreams = iota
	NotInChangeStream               // it may not
	InChangeStream                  // it may
	OnlyLastInStream                // it may, as the last stage, and stands in no other pipeline
)

// StableAPI says which uses of a stage the stable API has.
type StableAPI byte

// The answers.
const (
	_           StableAPI = iota
	NoUse                 // the stable API does not have the stage
	EveryUse              // it has all uses
	OfCountOnly           // it has the uses whose argument has no field but count
)

// Has reports whether the stable API has a use.
func (s StableAPI) Has(arg bsonx.Value) bool {
	if s != OfCountOnly || arg.Type != bsonx.TypeDocument {
		return s != NoUse
	}
	for it := arg.Doc().Iter(); it.Next(); {
		if string(it.Key()) != "count" {
			return false
		}
	}
	return true
}

// ReadConcern says which levels of read concern a stage runs with.
type ReadConcern byte

// The answers.
const (
	_            ReadConcern = iota
	AnyLevel                 // every level; a stage that writes refuses linearizable
	OnlyLocal                // local alone
	OnlyMajority             // majority alone
)

// Budget is a limit of a stage's memory, which a server parameter sets.
type Budget struct {
	Param string
	Least int64 // the parameter's lowest value
}

// OfDocuments returns the properties of a stage that makes documents from those before it, and may stand
// wherever it has some.
func OfDocuments() Properties {
	return Properties{
		Input: FromStages, Writes: feature.No, Joined: feature.Yes, Facets: feature.Yes, Views: feature.Yes,
		Updates: feature.No, ChangeStreams: NotInChangeStream, Transactions: feature.Yes,
		StableAPI: EveryUse, ReadConcern: AnyLevel, Repeatable: feature.Yes,
	}
}

// OfEachDocument returns the properties of a stage that makes at most one document of each: it may
// follow $changeStream too.
func OfEachDocument() Properties {
	r := OfDocuments()
	r.ChangeStreams = InChangeStream
	return r
}

// OfOneDocument returns the properties of a stage that makes one document of each: a change stream and
// an update may have it too.
func OfOneDocument() Properties {
	r := OfEachDocument()
	r.Updates = feature.Yes
	return r
}

// OfReport returns the properties of a stage that reports on the server.
func OfReport(input Input) Properties {
	return Properties{
		Input: input, Writes: feature.No, Joined: feature.Yes, Facets: feature.No, Views: feature.Yes,
		Updates: feature.No, ChangeStreams: NotInChangeStream, Transactions: feature.No,
		StableAPI: NoUse, ReadConcern: OnlyLocal, Repeatable: feature.Yes,
	}
}

// OfWriter returns the properties of a stage that writes the documents before it to a collection.
func OfWriter() Properties {
	return Properties{
		Input: FromStages, Writes: feature.Yes, Joined: feature.No, Facets: feature.No, Views: feature.No,
		Updates: feature.No, ChangeStreams: NotInChangeStream, Transactions: feature.No,
		StableAPI: EveryUse, ReadConcern: AnyLevel, Repeatable: feature.Yes,
	}
}

// IsFirst reports whether the stage must be the first one of its pipeline.
func (r *Properties) IsFirst() bool { return r.Input != FromStages }
